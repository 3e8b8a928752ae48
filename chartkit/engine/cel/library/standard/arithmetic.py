"""`+`, `-`, `*`, `/` and `%`: numbers within 64 bits, texts, bytes, lists, times.

The order is cel-go's: where the types of operands are not known, the first one that fits shows.
"""

from __future__ import annotations

import math
import operator
from typing import Final

from chartkit.engine.cel.declarations import declared, overload
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.costs import bounded, bounded_members
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.values import Uint, Value, checked_int, checked_uint, divide, modulo

_ADD = "The sum of two numbers or times; two texts, bytes or lists, one after the other."
_SUBTRACT = "The difference of two numbers or times."
_MULTIPLY = "The product of two numbers."
_DIVIDE = "The quotient; of whole numbers it is cut towards zero."
_MODULO = "What a division of whole numbers leaves; it has the sign of the first."
_NEGATE = "The number with the other sign."


def negated(duration: Duration) -> Duration:
    """The duration backwards; raises `CelError`."""
    return Duration(checked_int(-duration.nanoseconds))


@overload("add_bytes: _+_(bytes, bytes) -> bytes", _ADD, cost=costs.of_both)
def add_bytes(left: bytes, right: bytes) -> bytes:
    bounded(len(left) + len(right))
    return left + right


add_double = overload("add_double: _+_(double, double) -> double", _ADD)(operator.add)


@overload("add_duration_duration: _+_(duration, duration) -> duration", _ADD)
def add_durations(left: Duration, right: Duration) -> Duration:
    return Duration(checked_int(left.nanoseconds + right.nanoseconds))


@overload("add_duration_timestamp: _+_(duration, timestamp) -> timestamp", _ADD)
def add_duration_timestamp(left: Duration, right: Timestamp) -> Timestamp:
    return right.plus(left)


add_timestamp_duration = overload(
    "add_timestamp_duration: _+_(timestamp, duration) -> timestamp", _ADD
)(Timestamp.plus)

add_int = overload(
    "add_int64: _+_(int, int) -> int",
    _ADD,
    "1 + 2  // 3",
    "'a' + 'b'  // 'ab'",
    "[1] + [2, 3]  // [1, 2, 3]",
    "duration('1m') + duration('1s')  // duration('61s')",
    "9223372036854775807 + 1  // error: integer overflow",
)(lambda left, right: checked_int(left + right))


@overload("add_list: _+_(list(A), list(A)) -> list(A)", _ADD)
def add_list(left: list[Value], right: list[Value]) -> list[Value]:
    bounded_members(len(left) + len(right))
    return left + right


@overload("add_string: _+_(string, string) -> string", _ADD, cost=costs.of_both)
def add_string(left: str, right: str) -> str:
    bounded(len(left) + len(right))
    return left + right


@overload("add_uint64: _+_(uint, uint) -> uint", _ADD)
def add_uint(left: Uint, right: Uint) -> Uint:
    return checked_uint(int(left) + right)


subtract_double = overload("subtract_double: _-_(double, double) -> double", _SUBTRACT)(
    operator.sub
)


@overload("subtract_duration_duration: _-_(duration, duration) -> duration", _SUBTRACT)
def subtract_durations(left: Duration, right: Duration) -> Duration:
    return Duration(checked_int(left.nanoseconds - right.nanoseconds))


subtract_int = overload(
    "subtract_int64: _-_(int, int) -> int",
    _SUBTRACT,
    "5 - 7  // -2",
    "timestamp('2024-01-02T00:00:00Z') - duration('12h')  // timestamp('2024-01-01T12:00:00Z')",
    "1u - 2u  // error: unsigned integer overflow",
)(lambda left, right: checked_int(left - right))


@overload("subtract_timestamp_duration: _-_(timestamp, duration) -> timestamp", _SUBTRACT)
def subtract_timestamp_duration(left: Timestamp, right: Duration) -> Timestamp:
    return left.plus(negated(right))


subtract_timestamps = overload(
    "subtract_timestamp_timestamp: _-_(timestamp, timestamp) -> duration", _SUBTRACT
)(Timestamp.minus)


@overload("subtract_uint64: _-_(uint, uint) -> uint", _SUBTRACT)
def subtract_uint(left: Uint, right: Uint) -> Uint:
    return checked_uint(int(left) - right)


multiply_double = overload("multiply_double: _*_(double, double) -> double", _MULTIPLY)(
    operator.mul
)


@overload("multiply_int64: _*_(int, int) -> int", _MULTIPLY, "-2 * 6  // -12", "3.5 * 4.0  // 14.0")
def multiply_int(left: int, right: int) -> int:
    return checked_int(left * right)


@overload("multiply_uint64: _*_(uint, uint) -> uint", _MULTIPLY)
def multiply_uint(left: Uint, right: Uint) -> Uint:
    return checked_uint(int(left) * right)


@overload("divide_double: _/_(double, double) -> double", _DIVIDE)
def divide_double(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


divide_int = overload(
    "divide_int64: _/_(int, int) -> int",
    _DIVIDE,
    "-7 / 2  // -3",
    "7.0 / 2.0  // 3.5",
    "1 / 0  // error: division by zero",
)(lambda left, right: checked_int(divide(left, right)))


@overload("divide_uint64: _/_(uint, uint) -> uint", _DIVIDE)
def divide_uint(left: Uint, right: Uint) -> Uint:
    return Uint(divide(left, right))


@overload(
    "modulo_int64: _%_(int, int) -> int",
    _MODULO,
    "-7 % 2  // -1",
    "1 % 0  // error: modulus by zero",
)
def modulo_int(left: int, right: int) -> int:
    rest = modulo(left, right)
    # The quotient of the least int and -1 is no int, so that cel-go refuses this as well.
    checked_int(divide(left, right))
    return rest


@overload("modulo_uint64: _%_(uint, uint) -> uint", _MODULO)
def modulo_uint(left: Uint, right: Uint) -> Uint:
    return Uint(modulo(left, right))


negate_double = overload("negate_double: -_(double) -> double", _NEGATE)(operator.neg)


@overload("negate_int64: -_(int) -> int", _NEGATE, "-(2 + 3)  // -5")
def negate_int(value: int) -> int:
    return checked_int(-value)


OVERLOADS: Final = declared(globals())
