"""Kyverno's own test files: every row, its verdict and its message, as its program answered."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chartkit.testing.model import EXCLUDED, CaseResult, Row
from chartkit.testing.runner import run_tests
from tests.conformance.deviations import DEVIATIONS
from tests.shared import shared

CORPORA = ("kyverno-cli", "policy-library")
Key = tuple[str, str, str, str, str, str]


@dataclass(slots=True)
class Outcome:
    """How many rows were compared, and what differs by case."""

    compared: int = 0
    unrecorded: int = 0
    differing: dict[str, str] = field(default_factory=dict)


def _recorded(folder: Path) -> dict[str, dict[str, Any]]:
    lines = (folder / "expected.jsonl").read_text("utf-8").splitlines()
    cases = (json.loads(line) for line in lines)
    return {case["case"]: case for case in cases if not case["exit_code"] and case["rows"]}


def _of_row(row: Row) -> Key:
    return row.policy, row.rule, row.resource, str(row.verdict), row.reason, row.message


def _of_record(row: dict[str, str]) -> Key:
    keys = ("policy", "rule", "resource", "result", "reason", "message")
    policy, rule, resource, result, reason, message = (row[key] for key in keys)
    return policy, rule, resource, result, reason, message


def _names_missing_file(result: CaseResult) -> bool:
    """Some recorded cases name files that were not kept."""
    return result.error.endswith("no such file") and "/.chainsaw-test/" in result.error


def _settled(rows: Counter[Key]) -> Counter[Key]:
    """Rows without those that Kyverno's program shows or not as it happens. The forms of a CEL
    policy for pod controllers are a Go map: where the one for CronJobs comes last, the form before
    it, which says nothing, leaves a row that a CronJob is excluded."""
    judged = {(row[0], row[2]) for row in rows if row[4] != EXCLUDED}
    return Counter(
        {
            row: n
            for row, n in rows.items()
            if not (row[4] == EXCLUDED and "/CronJob/" in row[2] and (row[0], row[2]) in judged)
        }
    )


def _compare(results: Iterator[CaseResult], folder: Path) -> Outcome:
    outcome = Outcome()
    recorded = _recorded(folder)
    found: dict[str, list[Row]] = {}
    for result in results:
        if _names_missing_file(result):
            outcome.unrecorded += 1
        elif result.case in recorded:
            found.setdefault(result.case, []).extend(result.rows)
    for case, rows in found.items():
        wanted = _settled(Counter(map(_of_record, recorded[case]["rows"])))
        got = Counter(map(_of_row, rows))
        outcome.compared += got.total()
        # A case was recorded with the tests below its folder, of which some were not kept.
        has_more = any(other.startswith(f"{case}/") for other in recorded)
        if not got <= wanted if has_more else got != wanted:
            outcome.differing[case] = f"recorded: {wanted - got}; found: {got - wanted}"
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize("corpus", CORPORA)
def test_rows_are_as_recorded(corpus: str) -> None:
    folder = shared(f"conformance/{corpus}")
    outcome = _compare(run_tests([folder]), folder)
    known = DEVIATIONS.get(corpus, {})
    assert {case: why for case, why in outcome.differing.items() if case not in known} == {}
    assert sorted(outcome.differing) == sorted(known), "take it off the list of known deviations"
    assert outcome.compared
