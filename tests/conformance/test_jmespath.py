"""Recorded searches, the grammar and every function, and the project's own."""

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.engine import read_cases, run_file
from tests.conformance.engine_jmespath import run_case
from tests.shared import shared

OWN = Path(__file__).parent / "data" / "jmespath.jsonl"


@pytest.mark.parametrize("case", read_cases(OWN), ids=lambda case: case["id"])
def test_own_jmespath_case(case: dict[str, Any]) -> None:
    assert run_case(case) is None


def test_recorded_jmespath_cases() -> None:
    assert run_file(shared("conformance/engine/jmespath.jsonl")).failed == {}
