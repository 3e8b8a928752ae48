"""`--jobs N` of commands that run many things of a user's: the same results, in the same order."""

import os
import shutil
from pathlib import Path

import pytest

from tests.data import beside
from tests.e2e.command import chartkit
from tests.shared import ROOT

_TEXTS = beside(__file__)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forks")

POLICY = _TEXTS["policy"]
TEST = _TEXTS["test"]
POD = "{apiVersion: v1, kind: Pod, metadata: {name: NAME}, spec: {containers: []}}\n"


def test_tests_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    for number in range(30):
        folder = tmp_path / f"case-{number:02}"
        folder.mkdir()
        (folder / "pods.yaml").write_text(POD.replace("NAME", f"pod-{number}"))
        text = TEST.replace("RESOURCE", f"pod-{number}")
        text = text.replace("RESULT", "pass" if number % 5 == 0 else "fail")
        (folder / "kyverno-test.yaml").write_text(text if number != 7 else "kind: [")
    for options in (("--detailed",), ("--coverage", "-o", "json"), ("-o", "junit")):
        one = chartkit(tmp_path, "test", ".", *options, "--jobs", "1")
        assert one == chartkit(tmp_path, "test", ".", *options, "--jobs", "3")
        assert one.code == 2
        assert "case-29" in one.out or "--coverage" in options


@pytest.mark.slow
def test_checks_of_policies_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    library = tmp_path / "policies"
    for folder in sorted((ROOT / "profiles" / "policies" / "baseline").iterdir())[:8]:
        shutil.copytree(folder, library / folder.name)
    shutil.copy(ROOT / "profiles" / "policies" / "parameters.yaml", library)
    broken = next(library.glob("*/metadata.yaml"))
    broken.write_text(broken.read_text("utf-8").replace("description:", "decsription:"))
    one = chartkit(tmp_path, "policies", "check", "policies", "--jobs", "1")
    assert one == chartkit(tmp_path, "policies", "check", "policies", "--jobs", "2")
    assert one.code == 1
    assert "CK510" in one.out
