"""What comes before what, across the types of numbers and with NaN."""

import math

import pytest

from chartkit.engine.cel.library.standard import LIBRARY
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import struct
from chartkit.engine.cel.values import INT_MAX, OptionalValue, Struct, Uint, Value, equal
from tests.unit.engine.cel.library.calls import answer

_ROUNDED = 2**53 + 1
"""As a double it is 2^53."""


@pytest.mark.parametrize(
    ("id", "left", "right", "expected"),
    [
        ("less_int64", -1, 1, True),
        ("less_bool", False, True, True),
        ("less_string", "B", "a", True),
        ("less_string", "ﬀ", "😀", True),
        ("less_bytes", b"a", b"ab", True),
        ("less_timestamp", Timestamp(1, 3600), Timestamp(2), True),
        ("less_duration", Duration(-1), Duration(0), True),
        ("less_int64_uint64", -1, Uint(0), True),
        ("less_uint64_int64", Uint(2**63), INT_MAX, False),
        ("less_int64_double", _ROUNDED, 2.0**53, False),
        ("less_equals_int64_double", _ROUNDED, 2.0**53, True),
        ("greater_int64_double", _ROUNDED, 2.0**53, False),
        ("greater_equals_uint64_double", Uint(2**64 - 1), 2.0**64, True),
        ("less_double_int64", math.nan, 1, False),
        ("greater_equals_double", math.nan, math.nan, False),
        ("less_double_uint64", -0.5, Uint(0), True),
        ("greater_double", math.inf, 1e308, True),
    ],
)
def test_ordering_comparisons(id: str, left: Value, right: Value, expected: bool) -> None:
    assert answer(LIBRARY, id, (left, right)) == ("bool", expected)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1.0, True),
        (1, Uint(1), True),
        (Uint(1), 1.0, True),
        (_ROUNDED, 2.0**53, True),
        (_ROUNDED, Uint(2**53), False),
        (INT_MAX, 2.0**63, True),
        (1, True, False),
        (math.nan, math.nan, False),
        ([1, 2], [1.0, Uint(2)], True),
        ({"a": [1]}, {"a": [1.0]}, True),
        (None, False, False),
        ("1", 1, False),
    ],
)
def test_ordering_equality(left: Value, right: Value, expected: bool) -> None:
    assert equal(left, right) is expected
    assert equal(right, left) is expected


def _woven(depth: int) -> list[Value]:
    """A list whose members are one list a hundred times, and so on: 100 to the depth numbers."""
    members: list[Value] = [0]
    for _ in range(depth):
        members = [members] * 100
    return members


def test_what_stands_in_many_places_is_compared_once() -> None:
    assert equal(_woven(9), _woven(9))
    assert not equal(_woven(9), [*_woven(9)[:-1], 1])


def test_optionals_and_objects_within_lists() -> None:
    there, absent = OptionalValue(True, [1]), OptionalValue(False)
    thing = struct("Thing")
    assert equal([there, absent], [OptionalValue(True, [1.0]), absent])
    assert not equal([there], [absent])
    assert not equal([there], [OptionalValue(True, [2])])
    assert equal([Struct(thing, {"a": 1})], [Struct(thing, {"a": 1.0})])
    assert not equal([Struct(thing, {"a": 1})], [{"a": 1}])
