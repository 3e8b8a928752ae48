"""`--select` of policies, rules and tests."""

from pathlib import Path

import pytest

from chartkit.errors import InputError
from chartkit.testing.runner import Selection, run_tests
from tests.unit.testing.objects import write_test


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tests")
    write_test(folder / "one", "- {policy: require-owner, action: Enforce}", name="first")
    write_test(folder / "two", name="second")
    return folder


@pytest.mark.parametrize(
    ("patterns", "rows"),
    [
        ((), ["one require-owner", "one add-label", "two require-owner", "two add-label"]),
        (("add-label",), ["one add-label", "two add-label"]),
        (("add-label/add",), ["one add-label", "two add-label"]),
        (("*/owner",), ["one require-owner", "two require-owner"]),
        (("two",), ["two require-owner", "two add-label"]),
        (("fir*",), ["one require-owner", "one add-label"]),
        (("first", "add-label"), ["one require-owner", "one add-label", "two add-label"]),
    ],
)
def test_selected(folder: Path, patterns: tuple[str, ...], rows: list[str]) -> None:
    cases = list(run_tests([folder], selection=Selection(patterns)))
    assert [f"{case.case} {row.policy}" for case in cases for row in case.rows] == rows
    assert not any(case.diagnostics for case in cases)


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("require-ownr", "did you mean 'require-owner'?"),
        ("require-owner/add", "did you mean 'require-owner'?"),
        ("xyz*", "POLICY/RULE"),
    ],
)
def test_a_pattern_that_selects_nothing(folder: Path, pattern: str, hint: str) -> None:
    with pytest.raises(InputError, match="selects no result") as error:
        list(run_tests([folder], selection=Selection(("add-label", pattern))))
    assert hint in str(error.value)


def test_a_test_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    write_test(tmp_path / "good")
    write_test(tmp_path / "wrong", rows="resultz: []\n")
    good, wrong = run_tests([tmp_path], selection=Selection(("add-label",)))
    assert (len(good.rows), wrong.rows) == (1, ())
    assert "resultz" in wrong.error
