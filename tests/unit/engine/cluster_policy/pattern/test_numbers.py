"""Numbers in the types and texts of Go."""

import math

import pytest

from chartkit.engine.cluster_policy.pattern.scalar import exponent_text, go_number
from chartkit.go.fmt import go_type
from chartkit.go.strconv import Int64
from chartkit.model import Json
from tests.data import from_table


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
