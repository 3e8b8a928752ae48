"""Rows on what Kyverno warns of: one a run, with the environments that it is about."""

from chartkit.render.checks.run import merge_environments
from chartkit.render.model import POLICY_WARNINGS as CHECK
from chartkit.render.model import Outcome, Row


def _row(environment: str, message: str = "deprecated", check: str = CHECK) -> Row:
    return Row(environment, check, Outcome.NOTE, message)


def test_environments_share_a_warning() -> None:
    rows = [_row("dev"), _row("qa", "other"), _row("prd"), _row("prd", "other")]
    found = [(row.environment, row.message) for row in merge_environments(rows)]
    assert found == [("dev, prd", "deprecated"), ("qa, prd", "other")]


def test_rows_of_other_checks_stay() -> None:
    rows = [_row(name, check="policies") for name in ("dev", "qa")]
    assert list(merge_environments(rows)) == rows
