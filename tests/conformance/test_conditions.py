"""Every recorded condition, and the project's own selection of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.deviations import DEVIATIONS
from tests.conformance.engine_conditions import run_case
from tests.shared import shared

_OWN = Path(__file__).parent / "data" / "conditions.jsonl"


def _cases(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


@pytest.mark.parametrize("case", _cases(_OWN), ids=lambda case: case["id"])
def test_own_case(case: dict[str, Any]) -> None:
    assert run_case(case) is None


def test_recorded_cases() -> None:
    known = DEVIATIONS.get("conditions", {})
    failures = {}
    mended = []
    for case in _cases(shared("conformance/engine/conditions.jsonl")):
        difference = run_case(case)
        if case["id"] in known:
            if difference is None:
                mended.append(case["id"])
        elif difference is not None:
            failures[case["id"]] = difference
    assert not failures
    assert not mended, "take these out of the list of deviations"
