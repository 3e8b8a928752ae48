"""Recorded policies whose rules are CEL: every kind of them, and what they say of objects."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.conformance.deviations import DEVIATIONS
from tests.conformance.engine import read_cases, run_file
from tests.conformance.engine_cel_policies import explained, run_case
from tests.shared import shared

OWN: Final = Path(__file__).parent / "data" / "cel-policies.jsonl.gz"
KNOWN: Final = DEVIATIONS["cel-policies"]


@pytest.mark.parametrize("case", read_cases(OWN), ids=lambda case: case["id"])
def test_own_cel_policies_case(case: dict[str, Any]) -> None:
    fault = run_case(case)
    if case["id"] in KNOWN:
        assert fault is not None, "agrees: take it off the list of known deviations"
    else:
        assert fault is None


@pytest.mark.slow
def test_runs_that_say_why_have_the_recorded_results() -> None:
    wrong = []
    for case in read_cases(OWN):
        fault = run_case(case, explained)
        if (fault is None) is (case["id"] in KNOWN):
            wrong.append((case["id"], fault))
    assert wrong == []


def test_recorded_cel_policies_cases() -> None:
    outcome = run_file(shared("conformance/engine/cel-policies.jsonl"))
    assert outcome.failed == {}
