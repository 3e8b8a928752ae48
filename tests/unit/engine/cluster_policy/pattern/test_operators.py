"""Operators of text patterns: durations, then quantities, then texts with wildcards."""

import pytest

from chartkit.engine.cluster_policy.pattern.scalar import compile_operation, literal, text_of
from chartkit.go.strconv import Int64
from chartkit.model import Json
from tests.data import from_table


@from_table("operation", "holds", "fails")
def test_operators_operation(operation: str, holds: list[Json], fails: list[Json]) -> None:
    check = compile_operation(operation)
    assert [value for value in holds if not check(value)] == []
    assert [value for value in fails if check(value)] == []


@pytest.mark.parametrize("text", ["abc", "runtime/default", "", ">", "\t>5", "1d"])
def test_operators_literal(text: str) -> None:
    assert literal(text) == text.strip()


@pytest.mark.parametrize("text", ["a*", "?", "!a", ">=1", "5", "10s", "1-5", "1!-5", "\t5"])
def test_no_literal(text: str) -> None:
    assert literal(text) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (True, "true"), (2, "2E+00"), (Int64(2), "2"), (None, None), ([], None)],
)
def test_text_of(value: Json, text: str | None) -> None:
    assert text_of(value) == text
