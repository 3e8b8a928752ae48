"""Message, action and field of results, asserted in an annotation of a test file."""

from pathlib import Path

import pytest

from chartkit.testing.model import Verdict
from chartkit.testing.runner import run_tests
from tests.data import from_table
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
