"""What a user may say to `chartkit scan` about requests."""

from pathlib import Path

from chartkit.documents.reader import read_file
from tests.e2e.command import chartkit
from tests.shared import ROOT

CASES = ROOT / "tests" / "cases"
VALUES = str(CASES / "values" / "values.yaml")
POLICY = ("-p", str(CASES / "values" / "policy.yaml"))
PODS = str(CASES / "values" / "resources.yaml")


def test_exceptions_lift_rules(tmp_path: Path) -> None:
    folder = CASES / "exceptions"
    given = ("scan", str(folder / "resources.yaml"), "-p", str(folder / "policy.yaml"))
    before = chartkit(tmp_path, *given)
    after = chartkit(tmp_path, *given, "--exceptions", str(folder / "exception.yaml"), "--detailed")
    assert "fail: 3" in before.out
    # Kyverno has no space there.
    assert "rule is skipped due to policy exceptionskyverno/legacy" in after.out
    assert "fail: 1" in after.out


def test_values_settings_and_who_asks(tmp_path: Path) -> None:
    user = str(CASES / "values" / "user.yaml")
    (tmp_path / "values.yaml").write_text(
        Path(VALUES).read_text("utf-8").replace("request.operation: UPDATE", "color: red"), "utf-8"
    )
    done = chartkit(
        tmp_path,
        "scan",
        PODS,
        *POLICY,
        "-f",
        "values.yaml",
        "--userinfo",
        user,
        "--set",
        "count=12",
    )
    assert done.code == 1
    assert "12 of 10 pods for system:serviceaccount:ops:deployer" not in done.out
    assert "deployer of ops" in done.out
    assert "guarded" in done.out


def test_what_is_mutated_is_what_is_validated(tmp_path: Path) -> None:
    folder = CASES / "mutation"
    done = chartkit(
        tmp_path, "scan", str(folder / "resources.yaml"), "-p", str(folder / "policy.yaml")
    )
    assert "somebody owns every pod, not nobody" in done.out
    assert done.code == 1


def test_scan_statements_what_would_be_generated_is_listed(tmp_path: Path) -> None:
    folder = CASES / "generation"
    done = chartkit(
        tmp_path,
        "scan",
        str(folder / "resources.yaml"),
        str(folder / "source.yaml"),
        "-p",
        str(folder / "policy.yaml"),
    )
    assert "would be generated:\n  ResourceQuota/shop/quota by new-namespace/quota" in done.out


def test_scan_statements_openreports(tmp_path: Path) -> None:
    chartkit(tmp_path, "scan", PODS, *POLICY, "-o", "openreports=r.yaml", "-o", "junit=r.xml")
    (report,) = {document.body["apiVersion"] for document in read_file(tmp_path / "r.yaml")}
    assert report == "openreports.io/v1alpha1"
    assert (tmp_path / "r.xml").read_text("utf-8").startswith("<?xml")


def test_statements_that_are_wrong(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "scan", PODS, *POLICY, "--set", "count")
    assert done.code == 2
    assert "NAME=VALUE" in done.line
    done = chartkit(tmp_path, "scan", PODS, *POLICY, "--userinfo", "gone.yaml")
    assert (done.code, done.line) == (2, "gone.yaml: no such file")
    done = chartkit(tmp_path, "scan", PODS, *POLICY, "--exceptions", PODS)
    assert done.code == 2
    assert "holds no PolicyException" in done.line
