"""Recorded policies whose rules are CEL, asked why."""

from pathlib import Path
from typing import Final

import pytest

from tests.conformance.deviations import DEVIATIONS
from tests.conformance.engine import read_cases
from tests.conformance.engine_cel_policies import explained, run_case

OWN: Final = Path(__file__).parent / "data" / "cel-policies.jsonl.gz"
KNOWN: Final = DEVIATIONS["cel-policies"]


@pytest.mark.slow
def test_runs_that_say_why_have_the_recorded_results() -> None:
    wrong = []
    for case in read_cases(OWN):
        fault = run_case(case, explained)
        if (fault is None) is (case["id"] in KNOWN):
            wrong.append((case["id"], fault))
    assert wrong == []
