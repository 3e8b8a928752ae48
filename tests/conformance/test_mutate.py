"""Recorded cases of mutation, patched objects and all, and the project's own."""

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.engine import read_cases, run_file
from tests.conformance.engine_policies import run_case
from tests.conformance.patched import patched_differ
from tests.shared import shared

OWN = Path(__file__).parent / "data" / "mutate.jsonl"


@pytest.mark.parametrize("case", read_cases(OWN), ids=lambda case: case["id"])
def test_own_mutate_case(case: dict[str, Any]) -> None:
    assert run_case(case) is None


def test_recorded_mutate_cases() -> None:
    outcome = run_file(shared("conformance/engine/mutate.jsonl"))
    assert outcome.failed == {}


def test_a_patched_object_that_differs_is_found() -> None:
    case = next(case for case in read_cases(OWN) if case["id"] == "md-001")
    changed = {**case, "patched": [{**case["patched"][0], "object": {}}]}
    assert run_case(changed) is not None


def test_objects_without_results_are_passed_over() -> None:
    recorded = {"resource": "a/b/c", "policy": "p", "object": {}}
    assert patched_differ({"patched": [recorded]}, []) is None
