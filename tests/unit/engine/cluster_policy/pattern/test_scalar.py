"""Scalars of patterns: numbers in Go's types and texts, operators, and values of every type."""

import math

import pytest

from chartkit.engine.cluster_policy.pattern.scalar import (
    compile_operation,
    compile_scalar,
    exponent_text,
    go_number,
    literal,
    text_of,
)
from chartkit.go.fmt import go_type
from chartkit.go.strconv import Int64
from chartkit.model import Json
from tests.data import from_table

VALUES: list[Json] = [
    None, "", "abc", "1", "1.0", "true", 0, 1, 1.5, True, False, {}, {"a": 1}, [], ["abc"]
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "held"),
    [
        (None, [None, "", 0, False]),
        (True, [True]),
        (False, [False]),
        (Int64(1), ["1", 1]),
        (1.0, ["1", "1.0", 1]),
        (1.5, [1.5]),
        ("1", ["1", "1.0", 1]),
        ("true", ["true", True]),
        ("null", []),
        ("", [""]),
        ("*", ["", "abc", "1", "1.0", "true", 0, 1, 1.5, True, False]),
        ("?*", ["abc", "1", "1.0", "true", 0, 1, 1.5, True, False]),
        ("abc|true", ["abc", "true", True]),
        ("abc | true", ["abc", "true", True]),
        ("abc|", ["", "abc"]),
        ("abc&", []),
        (">0&<2", ["1", "1.0", 1, 1.5]),
        ("<1|>1", [None, 0, 1.5]),
        ("a*|>1", ["abc", 1.5]),
    ],
)
def test_scalar(pattern: Json, held: list[Json]) -> None:
    holds = compile_scalar(pattern)
    assert list(map(repr, filter(holds, VALUES))) == list(map(repr, held))


def test_the_whole_text_comes_first() -> None:
    for text in ("1-5", "a|b", ">=1", "!x", "a & b"):
        assert compile_scalar(text)(text)


def test_numbers_that_do_not_fit() -> None:
    assert not compile_scalar(Int64(1))("9" * 30)
    assert not compile_scalar(Int64(1))(10**400)
    assert not compile_scalar(1.0)("1e999")
    assert compile_scalar(Int64(-(2**63)))(1e30)


def test_int64_value_of_a_context() -> None:
    assert compile_scalar(2.0)(Int64(2))
    assert not compile_scalar(2.5)(Int64(2))
    assert compile_scalar("2")(Int64(2))


@from_table("number", "text")
def test_exponent_text(number: float, text: str) -> None:
    assert exponent_text(number) == text


def test_number() -> None:
    assert type(go_number(Int64(3))) is Int64
    assert type(go_number(3)) is float
    assert go_number(10**400) == math.inf


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "<nil>"),
        ("a", "string"),
        (True, "bool"),
        ({}, "map[string]interface {}"),
        ([], "[]interface {}"),
        (1, "float64"),
        (1.5, "float64"),
        (Int64(1), "int64"),
    ],
)
def test_numbers_type(value: Json, name: str) -> None:
    assert go_type(value) == name


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
