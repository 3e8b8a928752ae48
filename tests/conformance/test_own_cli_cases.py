"""The project's own test files (`tests/cases`), each with what Kyverno's program answered to it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chartkit.testing.report import Options, to_json
from chartkit.testing.runner import run_tests
from tests.shared import ROOT

CASES = ROOT / "tests" / "cases"
KEYS = ("policy", "rule", "resource", "result", "reason", "message")


def _recorded() -> dict[str, dict[str, Any]]:
    lines = (CASES / "expected.jsonl").read_text("utf-8").splitlines()
    return {case["case"]: case for case in map(json.loads, lines)}


RECORDED = _recorded()


def _rows(rows: list[dict[str, Any]], unknown: set[tuple[str, str]]) -> Counter[tuple[Any, ...]]:
    """Rows without the messages that describe a difference: each program has its own."""
    return Counter(
        tuple(
            None if key == "message" and (row["resource"], row["reason"]) in unknown else row[key]
            for key in KEYS
        )
        for row in rows
    )


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_answers_as_kyverno_does(name: str) -> None:
    (case,) = to_json(list(run_tests([CASES / name])), Options())["cases"]
    recorded = RECORDED[name]
    unknown = {
        (row["resource"], row["reason"]) for row in recorded["rows"] if row["message"] is None
    }
    assert case["case"] == "."
    assert case["exit_code"] == recorded["exit_code"]
    assert _rows(case["rows"], unknown) == _rows(recorded["rows"], unknown)


def test_every_case_is_recorded() -> None:
    assert {path.parent.name for path in Path(CASES).rglob("kyverno-test.yaml")} == set(RECORDED)
