"""Recorded cases of podSecurity and manifests rules, and the project's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.engine import read_cases, run_file
from tests.conformance.engine_policies import run_case, waits
from tests.shared import shared

DATA = Path(__file__).parent / "data"
OWN = [case for name in ("podsecurity", "manifests") for case in read_cases(DATA / f"{name}.jsonl")]


@pytest.mark.parametrize("case", OWN, ids=lambda case: case["id"])
def test_own_case(case: dict[str, Any]) -> None:
    assert not waits(case)
    assert run_case(case) is None


def test_recorded_cases() -> None:
    outcome = run_file(shared("conformance/engine/podsecurity.jsonl"))
    assert outcome.failed == {}
    assert outcome.waiting == 0
    assert outcome.passed
