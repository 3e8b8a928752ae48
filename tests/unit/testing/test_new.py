"""Test files made of what policies say."""

from pathlib import Path

import pytest

from chartkit.bundled import library_dir
from chartkit.documents.reader import parse_yaml
from chartkit.errors import InputError
from chartkit.testing.model import Verdict
from chartkit.testing.new import new_test
from chartkit.testing.runner import run_tests
from tests.data import beside
from tests.unit.testing.objects import OBJECTS, POLICIES

_TEXTS = beside(__file__)
DEPLOYMENT = _TEXTS["deployment"]
FURTHER = _TEXTS["further"]


def written(folder: Path, policies: str = POLICIES + FURTHER) -> list[Path]:
    (folder / "policies.yaml").write_text(policies, "utf-8")
    (folder / "objects.yaml").write_text(OBJECTS + DEPLOYMENT, "utf-8")
    file = folder / "tests" / "kyverno-test.yaml"
    return new_test(file, [folder / "policies.yaml"], [folder / "objects.yaml"])


def test_what_is_written_passes(tmp_path: Path) -> None:
    names = {path.name for path in written(tmp_path)}
    patched, generated = "add-label-patched.yaml", "make-config-generated.yaml"
    assert names == {"kyverno-test.yaml", patched, generated}
    (case,) = run_tests([tmp_path / "tests"])
    assert {row.verdict for row in case.rows} == {Verdict.PASS}
    assert not case.diagnostics
    body = parse_yaml((tmp_path / "tests" / "kyverno-test.yaml").read_text("utf-8"))
    assert body["policies"] == ["../policies.yaml"]
    rows = {(row["policy"], row["kind"], row["result"]): row for row in body["results"]}
    assert rows["require-owner", "Pod", "fail"]["resources"] == ["shop/bad"]
    assert rows["require-owner", "Deployment", "pass"]["rule"] == "owner"
    assert rows["add-label", "Pod", "pass"]["patchedResources"] == patched
    assert rows["make-config", "Pod", "pass"]["generatedResource"] == generated
    assert "rule" not in rows["in-cel", "Pod", "pass"]


def test_a_change_of_a_policy_fails_it(tmp_path: Path) -> None:
    written(tmp_path)
    file = tmp_path / "policies.yaml"
    file.write_text(
        file.read_text("utf-8").replace("owner:", "team:").replace("blue", "red"), "utf-8"
    )
    (case,) = run_tests([tmp_path / "tests"])
    assert {row.policy for row in case.rows if row.verdict is Verdict.FAIL} == {
        *("require-owner", "add-label", "make-config")
    }


def test_a_test_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(InputError, match="is there already"):
        written(tmp_path)


@pytest.mark.parametrize("form", ["policy.yaml", "cel.yaml"])
def test_the_policy_of_a_library_has_its_parameters_defaults(tmp_path: Path, form: str) -> None:
    folder = library_dir() / "baseline" / "restrict-sysctls"
    file = tmp_path / "kyverno-test.yaml"
    new_test(file, [folder / form], [folder / "good.yaml", folder / "bad.yaml"])
    (case,) = run_tests([tmp_path])
    assert {row.verdict for row in case.rows} == {Verdict.PASS}


@pytest.mark.parametrize(
    ("policies", "error"),
    [
        (POLICIES.replace("rules:", "rulez:"), "rulez"),
        (OBJECTS, "there is no policy in it"),
        (POLICIES.replace("Pod", "Secret"), "no policy is about any of the objects"),
    ],
)
def test_what_gives_no_test(tmp_path: Path, policies: str, error: str) -> None:
    with pytest.raises(InputError, match=error):
        written(tmp_path, policies)
    assert not (tmp_path / "tests").exists()
