import json
from pathlib import Path

import pytest

from chartkit.kyverno.known_faults import Announcement, announced
from tests.e2e.command import chartkit
from tests.e2e.transcript import check_page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kyverno", "kubernetes", "code", "status"),
    [
        ("1.12", "1.29", 0, "supported"),
        ("1.12", "v1.29.3", 0, "supported"),
        ("v1.12.6", "v1.29.3-eks-ad4801", 0, "supported"),
        ("1.12", "1.30", 1, "above"),
        ("1.19", "1.32", 1, "below"),
        ("1.19", "v1.36.4-eks-3025e55", 1, "undeclared"),
    ],
)
def test_a_pair(tmp_path: Path, kyverno: str, kubernetes: str, code: int, status: str) -> None:
    arguments = ("check-compat", "--kyverno", kyverno, "--kubernetes", kubernetes)
    done = chartkit(tmp_path, *arguments)
    assert (done.code, done.err) == (code, "")
    versions = [".".join(each.lstrip("v").split(".")[:2]) for each in (kyverno, kubernetes)]
    shown = {"undeclared": "not declared yet"}.get(status, status)
    assert done.out.startswith("Kyverno {} on Kubernetes {}: ".format(*versions) + f"{shown}\n")
    report = json.loads(chartkit(tmp_path, *arguments, "-o", "json").out)
    (subject,) = report["subjects"]
    assert subject["status"] == status
    assert subject["supported"] is (code == 0)


def test_a_release_with_a_known_fault(tmp_path: Path) -> None:
    fault = "warning CK105: Kyverno 1.19.0 deletes and re-creates every hour all that is generated"
    cluster = ("--kubernetes", "1.35")
    done = chartkit(tmp_path, "check-compat", "--kyverno", "v1.19.0", *cluster)
    assert (done.code, fault in done.out) == (0, True)
    assert "1.19.1 does not: https://github.com/kyverno/kyverno/issues/17594" in done.out
    for release in ("1.19", "1.19.1", "1.19.0-rc.1"):
        assert "CK105" not in chartkit(tmp_path, "check-compat", "--kyverno", release).out
    (tmp_path / "Chart.yaml").write_text(CHART)
    assert fault in chartkit(tmp_path, "check-compat", ".").out
    (tmp_path / "Chart.yaml").unlink()
    (tmp_path / "chartkit.yaml").write_text(
        'environments:\n  prd: {kyverno: "1.19.0", kubernetes: "1.35"}\n'
    )
    assert f"chartkit.yaml:2:9: {fault}" in chartkit(tmp_path, "check-compat").out


def test_an_accepted_pair_is_a_warning(tmp_path: Path) -> None:
    text = 'environments:\n  prd: {kyverno: "1.19", eks: "1.36"%s}\n'
    (tmp_path / "chartkit.yaml").write_text(text % "")
    done = chartkit(tmp_path, "check-compat")
    assert done.code == 1
    assert "chartkit.yaml:2:9: error CK106: Kubernetes 1.36 is above what Kyverno 1.19" in done.out
    assert "not declared yet by upstream as of 1.19.1" in done.out
    (tmp_path / "chartkit.yaml").write_text(text % ", compatibility: {accept: tried in qa}")
    done = chartkit(tmp_path, "check-compat")
    assert done.code == 0
    assert "warning CK106: Kubernetes 1.36 is above what Kyverno 1.19 supports" in done.out
    assert "; accepted: tried in qa" in done.out


def test_what_fits(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "check-compat", "--kyverno", "1.12", "--kubernetes", "1.34")
    assert "Kyverno 1.12 supports 1.26–1.29" in done.out
    assert "Kubernetes 1.34 is supported by Kyverno 1.16, 1.17, 1.18, 1.19" in done.out
    done = chartkit(tmp_path, "check-compat", "--kyverno", "1.18")
    assert done.code == 0
    assert "supports 1.33–1.35 (released 2026-04-29)" in done.out
    done = chartkit(tmp_path, "check-compat", "--kubernetes", "1.50")
    assert done.code == 1
    assert "Kubernetes 1.50 is supported by Kyverno no version" not in done.out
    said = "no known Kyverno supports Kubernetes 1.50 (the releases that chartkit "
    assert said in done.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "there is no version to check (give --kyverno and --kubernetes,"),
        (["--kyverno", "1.99", "--kubernetes", "1.34"], "Kyverno 1.99 is not known (known are"),
        (["--kyverno", "", "--kubernetes", "1.34"], "'' is not a version of Kyverno"),
        (["--kyverno", "1.19", "--kubernetes", "new"], "'new' is not a version of Kubernetes"),
        (["--kyverno", "1.19", "--kubernetes", "3.1"], "Kubernetes 3.1 is not known"),
        (["nowhere"], "nowhere: there is no version to check"),
    ],
)
def test_no_version_or_an_unknown_one(tmp_path: Path, arguments: list[str], expected: str) -> None:
    done = chartkit(tmp_path, "check-compat", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.line.startswith(expected)


def test_a_projects_environments(tmp_path: Path) -> None:
    (tmp_path / "chartkit.yaml").write_text(
        "environments:\n"
        '  old: {kyverno: "1.12", kubernetes: "1.29"}\n'
        '  new: {kyverno: "1.12", eks: "1.34"}\n'
    )
    done = chartkit(tmp_path, "check-compat")
    assert done.code == 1
    assert "old: Kyverno 1.12 on Kubernetes 1.29: supported" in done.out
    assert "chartkit.yaml:2:9: warning CK102: Kyverno 1.12 is past its end of life" in done.out
    assert "chartkit.yaml:3:9: error CK101: Kubernetes 1.34 is above" in done.out


CHART = "apiVersion: v2\nname: x\nversion: 0.1.0\nappVersion: v1.19.0\n"


@pytest.mark.parametrize(
    ("kube_version", "kubernetes", "code", "expected"),
    [
        (">=1.33-0 <1.36-0", None, 0, "supports 1.33–1.35"),
        (">=1.33-0 <1.36-0", "1.34", 0, "supported"),
        (">=1.33-0 <1.36-0", "1.36", 1, "refuses Kubernetes 1.36"),
        (">=1.25.0-0", None, 0, "warning CK103"),
        ("<1.30-0", None, 1, "admits no cluster that Kyverno 1.19 supports"),
        (">=1.33-0 <1.35-0", "1.35", 1, "refuses Kubernetes 1.35"),
        ("nonsense", None, 1, "admits no cluster"),
    ],
)
def test_a_charts_folder(
    tmp_path: Path, kube_version: str, kubernetes: str | None, code: int, expected: str
) -> None:
    (tmp_path / "Chart.yaml").write_text(CHART + f"kubeVersion: '{kube_version}'\n")
    cluster = ["--kubernetes", kubernetes] if kubernetes else []
    done = chartkit(tmp_path, "check-compat", ".", *cluster)
    assert done.code == code
    assert expected in done.out + done.err


def test_a_chart_that_names_no_kyverno(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: x\nversion: 0.1.0\n")
    done = chartkit(tmp_path, "check-compat", str(tmp_path))
    assert done.code == 2
    assert done.line.startswith(f"{tmp_path}/Chart.yaml:1: names no Kyverno version")


@pytest.mark.parametrize("known", announced().values(), ids=lambda known: str(known.version))
def test_an_announced_kyverno(tmp_path: Path, known: Announcement) -> None:
    version = known.version
    done = chartkit(tmp_path, "check-compat", "--kyverno", f"{version}.x")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith(f"Kyverno {version}: announced\n")
    assert known.advice in done.out
    assert known.changes
    for change in known.changes:
        assert str(change) in done.out
    (tmp_path / "chartkit.yaml").write_text(
        f'environments:\n  prd: {{kyverno: "{version}", kubernetes: "1.35"}}\n'
    )
    done = chartkit(tmp_path, "check-compat")
    assert done.code == 1
    assert f"chartkit.yaml:2:9: error CK101: Kyverno {version} is announced" in done.out


@pytest.mark.slow
def test_check_compat_page_is_true(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = "reference/check-compat.md"
    check_page(page, tmp_path, request.config.getoption("--update-golden"))
