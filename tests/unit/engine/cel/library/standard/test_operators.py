"""Operators: arithmetic within 64 bits, order across types of numbers, members by place and key."""

import math

import pytest

from chartkit.engine.cel.library.standard import LIBRARY
from chartkit.engine.cel.times import Duration, Timestamp, timestamp_of_text
from chartkit.engine.cel.types import struct
from chartkit.engine.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    OptionalValue,
    Struct,
    Uint,
    Value,
    equal,
)
from tests.unit.engine.cel.library.calls import answer

_OVERFLOW = ("error", "integer overflow")
_UINT_OVERFLOW = ("error", "unsigned integer overflow")
_HOUR = Duration(3_600_000_000_000)


@pytest.mark.parametrize(
    ("id", "args", "expected"),
    [
        ("add_int64", (1, 2), ("int", 3)),
        ("add_int64", (INT_MAX, 1), _OVERFLOW),
        ("add_int64", (INT_MIN, -1), _OVERFLOW),
        ("add_uint64", (Uint(1), Uint(2)), ("Uint", Uint(3))),
        ("add_uint64", (Uint(UINT_MAX), Uint(1)), _UINT_OVERFLOW),
        ("add_double", (0.1, 0.2), ("float", 0.30000000000000004)),
        ("add_double", (math.inf, -math.inf), ("float", "nan")),
        ("add_string", ("a", "é"), ("str", "aé")),
        ("add_bytes", (b"a", b"\xff"), ("bytes", b"a\xff")),
        ("add_list", ([1], ["a"]), ("list", [1, "a"])),
        ("add_duration_duration", (_HOUR, _HOUR), ("Duration", Duration(7_200_000_000_000))),
        ("add_duration_duration", (Duration(INT_MAX), Duration(1)), _OVERFLOW),
        ("add_duration_timestamp", (_HOUR, Timestamp(0)), ("Timestamp", Timestamp(3600 * 10**9))),
        ("add_timestamp_duration", (Timestamp(0), _HOUR), ("Timestamp", Timestamp(3600 * 10**9))),
        ("subtract_int64", (INT_MIN, 1), _OVERFLOW),
        ("subtract_uint64", (Uint(1), Uint(2)), _UINT_OVERFLOW),
        ("subtract_uint64", (Uint(2), Uint(2)), ("Uint", Uint(0))),
        ("subtract_double", (1.5, 1.0), ("float", 0.5)),
        ("subtract_duration_duration", (_HOUR, _HOUR), ("Duration", Duration(0))),
        ("subtract_timestamp_duration", (Timestamp(0), Duration(INT_MIN)), _OVERFLOW),
        (
            "subtract_timestamp_timestamp",
            (Timestamp(5, 60), Timestamp(7)),
            ("Duration", Duration(-2)),
        ),
        ("multiply_int64", (INT_MIN, -1), _OVERFLOW),
        ("multiply_int64", (2**32, 2**31), _OVERFLOW),
        ("multiply_int64", (-(2**32), 2**31), ("int", INT_MIN)),
        ("multiply_uint64", (Uint(2**32), Uint(2**32)), _UINT_OVERFLOW),
        ("multiply_double", (1e308, 10.0), ("float", math.inf)),
        ("divide_int64", (-7, 2), ("int", -3)),
        ("divide_int64", (7, -2), ("int", -3)),
        ("divide_int64", (INT_MIN, -1), _OVERFLOW),
        ("divide_int64", (1, 0), ("error", "division by zero")),
        ("divide_uint64", (Uint(7), Uint(2)), ("Uint", Uint(3))),
        ("divide_uint64", (Uint(7), Uint(0)), ("error", "division by zero")),
        ("divide_double", (1.0, 0.0), ("float", math.inf)),
        ("divide_double", (1.0, -0.0), ("float", -math.inf)),
        ("divide_double", (0.0, 0.0), ("float", "nan")),
        ("divide_double", (math.nan, 0.0), ("float", "nan")),
        ("modulo_int64", (-7, 2), ("int", -1)),
        ("modulo_int64", (7, -2), ("int", 1)),
        ("modulo_int64", (INT_MIN, -1), _OVERFLOW),
        ("modulo_int64", (1, 0), ("error", "modulus by zero")),
        ("modulo_uint64", (Uint(7), Uint(4)), ("Uint", Uint(3))),
        ("negate_int64", (INT_MIN,), _OVERFLOW),
        ("negate_double", (0.0,), ("float", "-0.0")),
    ],
)
def test_arithmetic(id: str, args: tuple[Value, ...], expected: tuple[str, Value]) -> None:
    assert answer(LIBRARY, id, args) == expected


def test_a_difference_of_timestamps_keeps_the_offset_of_neither() -> None:
    early = timestamp_of_text("2024-05-06T07:00:00+02:00")
    late = timestamp_of_text("2024-05-06T07:00:00Z")
    assert answer(LIBRARY, "subtract_timestamp_timestamp", (late, early)) == (
        "Duration",
        Duration(2 * _HOUR.nanoseconds),
    )


_MAP = {1: "one", "a": 2, 0: "zero"}


@pytest.mark.parametrize(
    ("id", "args", "expected"),
    [
        ("index_list", (["a", "b"], 1), ("str", "b")),
        ("index_list", (["a", "b"], 1.0), ("str", "b")),
        ("index_list", (["a", "b"], Uint(1)), ("str", "b")),
        ("index_list", (["a"], 1), ("error", "index out of bounds: 1")),
        ("index_list", (["a"], -1), ("error", "index out of bounds: -1")),
        ("index_list", (["a"], 0.5), ("error", "unsupported index value 0.5 in list")),
        ("index_list", (["a"], Uint(2**63)), ("error", f"unsupported index value {2**63} in list")),
        ("index_list", (["a"], "0"), ("error", "unsupported index type 'string' in list")),
        ("index_map", (_MAP, 1.0), ("str", "one")),
        ("index_map", (_MAP, Uint(1)), ("str", "one")),
        ("index_map", (_MAP, "b"), ("error", "no such key: b")),
        ("index_map", (_MAP, 1.5), ("error", "no such key: 1.5")),
        ("index_map", (_MAP, True), ("error", "no such key: true")),
        ("index_map", ({True: "yes"}, True), ("str", "yes")),
        ("index_map", ({True: "yes"}, 1), ("error", "no such key: 1")),
        ("in_map", (0.0, _MAP), ("bool", True)),
        ("in_map", (False, _MAP), ("bool", False)),
        ("in_map", (None, _MAP), ("bool", False)),
        ("in_map", ([1], _MAP), ("bool", False)),
        ("in_list", (1.0, [Uint(1)]), ("bool", True)),
        ("in_list", (True, [1, 1.0]), ("bool", False)),
        ("size_string", ("é😀",), ("int", 2)),
        ("bytes_size", (b"\xc3\xa9",), ("int", 2)),
        ("matches", ("aéb", "^a.b$"), ("bool", True)),
        ("matches_string", ("a", "("), ("error", "error parsing regexp: missing closing ): `(`")),
        ("contains_string", ("abc", ""), ("bool", True)),
        ("starts_with_string", ("abc", "ab"), ("bool", True)),
        ("ends_with_string", ("abc", "ab"), ("bool", False)),
    ],
)
def test_containers(id: str, args: tuple[Value, ...], expected: tuple[str, Value]) -> None:
    assert answer(LIBRARY, id, args) == expected


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
