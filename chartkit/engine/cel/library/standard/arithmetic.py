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


def negated(duration: Duration) -> Duration:
    """The duration backwards; raises `CelError`."""
    return Duration(checked_int(-duration.nanoseconds))


@overload("add_bytes: _+_(bytes, bytes) -> bytes", cost=costs.of_both)
def add_bytes(left: bytes, right: bytes) -> bytes:
    bounded(len(left) + len(right))
    return left + right


add_double = overload("add_double: _+_(double, double) -> double")(operator.add)


@overload("add_duration_duration: _+_(duration, duration) -> duration")
def add_durations(left: Duration, right: Duration) -> Duration:
    return Duration(checked_int(left.nanoseconds + right.nanoseconds))


@overload("add_duration_timestamp: _+_(duration, timestamp) -> timestamp")
def add_duration_timestamp(left: Duration, right: Timestamp) -> Timestamp:
    return right.plus(left)


add_timestamp_duration = overload("add_timestamp_duration: _+_(timestamp, duration) -> timestamp")(
    Timestamp.plus
)

add_int = overload("add_int64: _+_(int, int) -> int")(lambda left, right: checked_int(left + right))


@overload("add_list: _+_(list(A), list(A)) -> list(A)")
def add_list(left: list[Value], right: list[Value]) -> list[Value]:
    bounded_members(len(left) + len(right))
    return left + right


@overload("add_string: _+_(string, string) -> string", cost=costs.of_both)
def add_string(left: str, right: str) -> str:
    bounded(len(left) + len(right))
    return left + right


@overload("add_uint64: _+_(uint, uint) -> uint")
def add_uint(left: Uint, right: Uint) -> Uint:
    return checked_uint(int(left) + right)


subtract_double = overload("subtract_double: _-_(double, double) -> double")(operator.sub)


@overload("subtract_duration_duration: _-_(duration, duration) -> duration")
def subtract_durations(left: Duration, right: Duration) -> Duration:
    return Duration(checked_int(left.nanoseconds - right.nanoseconds))


subtract_int = overload("subtract_int64: _-_(int, int) -> int")(
    lambda left, right: checked_int(left - right)
)


@overload("subtract_timestamp_duration: _-_(timestamp, duration) -> timestamp")
def subtract_timestamp_duration(left: Timestamp, right: Duration) -> Timestamp:
    return left.plus(negated(right))


subtract_timestamps = overload(
    "subtract_timestamp_timestamp: _-_(timestamp, timestamp) -> duration"
)(Timestamp.minus)


@overload("subtract_uint64: _-_(uint, uint) -> uint")
def subtract_uint(left: Uint, right: Uint) -> Uint:
    return checked_uint(int(left) - right)


multiply_double = overload("multiply_double: _*_(double, double) -> double")(operator.mul)


@overload("multiply_int64: _*_(int, int) -> int")
def multiply_int(left: int, right: int) -> int:
    return checked_int(left * right)


@overload("multiply_uint64: _*_(uint, uint) -> uint")
def multiply_uint(left: Uint, right: Uint) -> Uint:
    return checked_uint(int(left) * right)


@overload("divide_double: _/_(double, double) -> double")
def divide_double(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


divide_int = overload("divide_int64: _/_(int, int) -> int")(
    lambda left, right: checked_int(divide(left, right))
)


@overload("divide_uint64: _/_(uint, uint) -> uint")
def divide_uint(left: Uint, right: Uint) -> Uint:
    return Uint(divide(left, right))


@overload("modulo_int64: _%_(int, int) -> int")
def modulo_int(left: int, right: int) -> int:
    rest = modulo(left, right)
    # The quotient of the least int and -1 is no int, so that cel-go refuses this as well.
    checked_int(divide(left, right))
    return rest


@overload("modulo_uint64: _%_(uint, uint) -> uint")
def modulo_uint(left: Uint, right: Uint) -> Uint:
    return Uint(modulo(left, right))


negate_double = overload("negate_double: -_(double) -> double")(operator.neg)


@overload("negate_int64: -_(int) -> int")
def negate_int(value: int) -> int:
    return checked_int(-value)


OVERLOADS: Final = declared(globals())
