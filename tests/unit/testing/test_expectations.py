"""Expectations of test files: messages, actions and fields, and names that there are not."""

from pathlib import Path

import pytest

from chartkit.testing.model import Verdict
from chartkit.testing.runner import run_tests
from tests.data import beside, from_table
from tests.unit.testing.objects import write_test


@from_table("assertion", "reason")
def test_asserted(tmp_path: Path, assertion: str, reason: str) -> None:
    (case,) = run_tests([write_test(tmp_path, f"- {{{assertion}}}")])
    assert case.rows[0].reason == reason
    assert (case.rows[0].verdict is Verdict.PASS) == (reason == "Ok")
    assert not case.diagnostics


def test_a_failed_assertion_is_where_it_stands(tmp_path: Path) -> None:
    text = "- policy: require-owner\n  action: Enforce\n- policy: require-owner\n  action: Audit\n"
    (case,) = run_tests([write_test(tmp_path, text)])
    place = case.rows[0].location
    assert (place.line, place.column) == (9, 9)
    line = (tmp_path / "kyverno-test.yaml").read_text("utf-8").splitlines()[place.line - 1]
    assert line[place.column - 1 :] == "policy: require-owner"


@from_table("assertions", "error")
def test_what_is_no_assertion(tmp_path: Path, assertions: str, error: str) -> None:
    (case,) = run_tests([write_test(tmp_path, assertions)])
    assert error in case.error
    assert ":7:" in case.error or ":6:" in case.error


@pytest.mark.parametrize(
    "assertion",
    ["policy: require-owners", "policy: add-label, rule: owner", "policy: '*', resource: x"],
)
def test_an_assertion_about_no_row_is_a_warning(tmp_path: Path, assertion: str) -> None:
    (case,) = run_tests([write_test(tmp_path, f"- {{{assertion}, message: x}}")])
    (warning,) = case.diagnostics
    assert warning.message.startswith("no row is about ")
    assert warning.location is not None
    assert warning.location.line == 7


_TEXTS = beside(__file__)
TEST = _TEXTS["test"]
POLICY = _TEXTS["policy"]
OBJECTS = _TEXTS["objects"]
EVERY = "there is no object 'bda' among the resources: every object is compared in its place"
RIGHT = {"POLICY": "require-owner", "RULE": "owner", "RESULT": "fail", "RESOURCES": "bad"}


@from_table("wrong", "said", "hint")
def test_mistakes_in_expectations(
    tmp_path: Path, wrong: dict[str, str], said: str, hint: str
) -> None:
    text = TEST
    for name, value in {**RIGHT, **wrong}.items():
        text = text.replace(name, value)
    for file, content in (("kyverno-test", text), ("policy", POLICY), ("objects", OBJECTS)):
        (tmp_path / f"{file}.yaml").write_text(content)
    (case,) = run_tests([tmp_path])
    assert [said in each.message for each in case.diagnostics] == ([True] if said else [])
    for each in case.diagnostics:
        assert hint in (each.hint or "")
        assert each.location is not None
        assert each.location.line == 6
