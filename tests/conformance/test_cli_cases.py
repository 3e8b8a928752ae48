"""Kyverno's own test files: every row, its verdict and its message, as Kyverno's program answered.

A row is left out where its policy waits for a part of the engine that is not there yet; which do
is decided in `_waiting_policies` alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chartkit.engine.policy import RuleKind
from chartkit.errors import ChartkitError
from chartkit.testing.model import CaseResult, Row
from chartkit.testing.reader import read_test_file
from chartkit.testing.runner import run_tests
from chartkit.testing.sources import Sources
from chartkit.testing.world import load_world
from tests.conformance.deviations import DEVIATIONS
from tests.shared import shared

CORPORA = ("kyverno-cli", "policy-library")
SIGNATURES = RuleKind.VERIFY_IMAGES
"""Nothing is asked of a registry: signatures are not verified yet."""

Key = tuple[str, str, str, str, str, str]


@dataclass(slots=True)
class Outcome:
    """How many rows were compared, how many wait, and what differs by case."""

    compared: int = 0
    waiting: int = 0
    unrecorded: int = 0
    differing: dict[str, str] = field(default_factory=dict)


def _recorded(folder: Path) -> dict[str, dict[str, Any]]:
    lines = (folder / "expected.jsonl").read_text("utf-8").splitlines()
    cases = (json.loads(line) for line in lines)
    return {case["case"]: case for case in cases if not case["exit_code"] and case["rows"]}


def _waiting_policies(path: Path, sources: Sources) -> set[str]:
    """Policies of kinds, or with rules of kinds, that the engine does not evaluate yet."""
    waiting: set[str] = set()
    for test in read_test_file(path):
        policies = load_world(test, sources).policies
        waiting.update(policies.unevaluated)
        for compiled in policies.compiled:
            kinds = {rule.kind for rule in compiled.policy.rules}
            if SIGNATURES in kinds:
                waiting.add(compiled.policy.name)
    return waiting


def _of_row(row: Row) -> Key:
    return row.policy, row.rule, row.resource, str(row.verdict), row.reason, row.message


def _of_record(row: dict[str, str]) -> Key:
    keys = ("policy", "rule", "resource", "result", "reason", "message")
    policy, rule, resource, result, reason, message = (row[key] for key in keys)
    return policy, rule, resource, result, reason, message


def _names_missing_file(result: CaseResult) -> bool:
    """Some recorded cases name files that were not kept."""
    return result.error.endswith("no such file") and "/.chainsaw-test/" in result.error


def _compare(results: Iterator[CaseResult], folder: Path, sources: Sources) -> Outcome:
    outcome = Outcome()
    recorded = _recorded(folder)
    found: dict[str, list[Row]] = {}
    waiting: dict[str, set[str]] = {}
    for result in results:
        if _names_missing_file(result):
            outcome.unrecorded += 1
            continue
        if result.case not in recorded:
            continue
        try:
            names = _waiting_policies(result.path, sources)
        except ChartkitError as error:
            outcome.differing[result.case] = str(error)
            continue
        found.setdefault(result.case, []).extend(result.rows)
        waiting.setdefault(result.case, set()).update(names)
    for case, rows in found.items():
        names = waiting[case]
        wanted = Counter(map(_of_record, recorded[case]["rows"]))
        got = Counter(map(_of_row, rows))
        total = wanted.total()
        wanted, got = (_without(counted, names) for counted in (wanted, got))
        outcome.waiting += total - wanted.total()
        outcome.compared += got.total()
        # A case was recorded with the tests below its folder, of which some were not kept.
        has_more = any(other.startswith(f"{case}/") for other in recorded)
        if not got <= wanted if has_more else got != wanted:
            outcome.differing[case] = f"recorded: {wanted - got}; found: {got - wanted}"
    return outcome


def _without(rows: Counter[Key], policies: set[str]) -> Counter[Key]:
    return Counter({key: n for key, n in rows.items() if key[0].rpartition("/")[2] not in policies})


@pytest.mark.parametrize("corpus", CORPORA)
def test_rows_are_as_recorded(corpus: str) -> None:
    folder = shared(f"conformance/{corpus}")
    sources = Sources()
    outcome = _compare(run_tests([folder], sources=sources), folder, sources)
    known = DEVIATIONS.get(corpus, {})
    assert {case: why for case, why in outcome.differing.items() if case not in known} == {}
    assert sorted(outcome.differing) == sorted(known), "take it off the list of known deviations"
    assert outcome.compared
