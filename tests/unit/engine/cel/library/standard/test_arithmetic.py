"""Arithmetic stays within 64 bits, cuts towards zero and says what overflows."""

import math

import pytest

from chartkit.engine.cel.library.standard import LIBRARY
from chartkit.engine.cel.times import Duration, Timestamp, timestamp_of_text
from chartkit.engine.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint, Value
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
