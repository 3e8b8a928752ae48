"""Recorded CEL expressions, the language and every library, in every environment."""

from pathlib import Path
from typing import Any, Final

import pytest

from chartkit.engine.cel.types import struct
from chartkit.engine.cel.values import Struct, Value
from tests.conformance.cel_answers import recorded_value
from tests.conformance.engine import read_cases, run_file
from tests.conformance.engine_cel import run_case
from tests.shared import shared

OWN: Final = Path(__file__).parent / "data"
LETTERS: Final = 0.98
"""How many of all messages must agree to the letter; the common ones must in any case."""


@pytest.mark.parametrize("case", read_cases(OWN / "cel.jsonl"), ids=lambda case: case["id"])
def test_own_cel_case(case: dict[str, Any]) -> None:
    assert run_case(case) is None


@pytest.mark.parametrize("case", read_cases(OWN / "cel-kyverno.jsonl"), ids=lambda case: case["id"])
def test_own_case_of_kyverno(case: dict[str, Any]) -> None:
    assert run_case(case) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cel", "cel-kyverno"])
def test_recorded_cel_cases(name: str) -> None:
    outcome = run_file(shared(f"conformance/engine/{name}.jsonl"))
    assert outcome.failed == {}
    assert 1 - outcome.reworded / outcome.messages >= LETTERS


def test_operations_of_json_patches_are_printed_as_go_has_them() -> None:
    with_value: dict[str, Value] = {"op": "add", "path": "/a", "value": 1}
    for fields, text in (
        (with_value, "&{Op:add From: Path:/a Val:1}"),
        ({"op": "remove", "path": "/a"}, "&{Op:remove From: Path:/a Val:<nil>}"),
    ):
        encoded, name = recorded_value(Struct(struct("JSONPatch"), fields))
        assert (encoded, name) == ({"$type": "JSONPatch", "str": text}, "JSONPatch")
