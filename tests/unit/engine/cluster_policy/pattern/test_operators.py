"""Operators of text patterns: durations, then quantities, then texts with wildcards."""

import pytest

from chartkit.engine.cluster_policy.pattern.scalar import compile_operation, literal, text_of
from chartkit.go.strconv import Int64
from chartkit.model import Json


@pytest.mark.parametrize(
    ("operation", "holds", "fails"),
    [
        (">1", [2, "2", "1001m", "1.5"], [1, 0, None, "abc", True, {}, []]),
        (">=1", [1, "1", 5], [0, None, "x"]),
        ("<5", [4, None, "4"], [5, "abc", True]),
        ("<=1Gi", ["1024Mi", None, 0], ["1025Mi", "abc"]),
        ("!1", [2, None, "abc"], [1, "1", "1000m"]),
        ("!abc", ["ab", 1, True], ["abc", None, {}]),
        ("!a*", ["b", 1], ["abc", None]),
        ("1-5", [1, 5, "3", "5000m"], [0, 6, "abc", None]),
        ("-5--1", [-5, -1], [0, None]),
        ("1!-5", [0, 6, None], [1, 5, "abc"]),
        ("!1-5", ["abc", 3], ["1-5", None]),
        ("1 - 5", ["1 - 5"], [3]),
        ("==3", ["==3"], [3]),
        ("!=3", [3], ["=3"]),
        (">=1m", ["60s", "1h", 60], ["30s", "abc"]),
        ("1h", ["60m", "1h0m0s"], [3600, "1"]),
        ("0s", ["0s", None], [0]),
        ("100m-1000m", ["5h", "1"], ["20h", "2"]),
        (">", [">"], [2, "a"]),
        ("a*", ["a", "abc"], ["b", 1, None]),
        ("?", ["1"], [1, None, ""]),
        ("true", [True, "true"], [1, False]),
    ],
)
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
