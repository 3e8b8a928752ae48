"""`chartkit test` from the outside."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.e2e.command import chartkit
from tests.shared import ROOT
from tests.unit.testing.objects import write_test

CASES = str(ROOT / "tests" / "cases")


def test_all_as_wanted(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "test", f"{CASES}/targets", f"{CASES}/mocks")
    assert (done.code, done.err) == (0, "")
    assert done.out == "2 tests, 10 results: 10 passed, 0 failed, 0 skipped\n"


def test_command_test_a_failing_row_shows_wanted_got_and_message(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "test", f"{CASES}/selection")
    assert done.code == 1
    assert (
        "Fail require-team/autogen-check-team apps/v1/Deployment/default/without-team" in done.out
    )
    assert "wanted pass, got fail\n       validation error: a pod says whose it is." in done.out


def test_json_has_the_shape_of_recorded_answers(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "test", CASES, "-o", "json")
    assert done.code == 1
    cases = json.loads(done.out)["cases"]
    assert [case["case"] for case in cases] == sorted(case["case"] for case in cases)
    keys = {"policy", "rule", "resource", "result", "reason", "message"}
    for case in cases:
        assert set(case) == {"case", "exit_code", "rows"}
        assert all(set(row) == keys for row in case["rows"])


@pytest.mark.parametrize("option", ["policyreport", "openreports"])
def test_formats_of_results(tmp_path: Path, option: str) -> None:
    done = chartkit(tmp_path, "test", f"{CASES}/targets", "-o", f"{option}=report")
    assert done.code == 0
    assert "touch-secret" in (tmp_path / "report").read_text("utf-8")


def test_update_then_select(tmp_path: Path) -> None:
    write_test(tmp_path)
    assert chartkit(tmp_path, "test", ".", "--select", "require-*").code == 0
    done = chartkit(tmp_path, "test", ".", "--update", "--select", "add-label/add")
    assert (done.code, done.err) == (0, "wrote patched.yaml\n")
    assert done.out == "1 test, 1 result: 1 passed, 0 failed, 0 skipped\n"
    done = chartkit(tmp_path, "test", "https://example.com/tests.tar.gz", "--update")
    assert done.code == 2
    assert "--update is for tests in files, not for URLs" in done.line


@pytest.mark.parametrize("option", ["junit", "markdown"])
def test_other_formats(tmp_path: Path, option: str) -> None:
    done = chartkit(tmp_path, "test", f"{CASES}/no-resources", "-o", option)
    assert done.code == 1
    if option == "junit":
        assert ElementTree.fromstring(done.out).get("failures") == "3"
    else:
        assert done.out.count("Not found") == 2


def test_command_test_coverage(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "test", f"{CASES}/no-resources", "--coverage")
    assert done.code == 1
    assert "coverage of 2 rules" in done.out
    assert "no test reaches: 1\n    require-team/check-tier" in done.out


def test_what_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "kyverno-test.yaml").write_text(
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: [gone.yaml]\n", "utf-8"
    )
    done = chartkit(tmp_path, "test", ".", f"{CASES}/targets")
    assert done.code == 2
    assert "gone.yaml: no such file or folder" in done.out
    assert "4 passed" in done.out
    assert "1 test could not be run" in done.out


def test_paths_that_are_not_there(tmp_path: Path) -> None:
    done = chartkit(tmp_path, "test", "gone")
    assert (done.code, done.line) == (2, "gone: no such file or folder")
    done = chartkit(tmp_path, "test", ".")
    assert done.code == 2
    assert "holds no test" in done.line
    assert chartkit(tmp_path, "test").code == 2


def test_a_new_test(tmp_path: Path) -> None:
    write_test(tmp_path / "in")
    done = chartkit(
        *(tmp_path, "test", "new", "in/objects.yaml", "-p", "in/policies.yaml"),
        *("--folder", "out"),
    )
    assert done.out == "wrote out/kyverno-test.yaml\nwrote out/add-label-patched.yaml\n"
    assert chartkit(tmp_path, "test", "out").code == 0
    done = chartkit(tmp_path, "test", "new", "in/objects.yaml", "-p", "in/objects.yaml")
    assert (done.code, done.line) == (
        2,
        "in/objects.yaml: there is no policy in it (name one with -p)",
    )
