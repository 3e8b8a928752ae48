"""`+`, `-`, `*`, `/` and `%`: numbers within 64 bits, texts, bytes, lists, times.

The order is cel-go's: where the types of operands are not known, the first one that fits shows.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final

from chartkit.engine.cel.declarations import overload, overloads
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.costs import bounded, bounded_members
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.values import Uint, Value, checked_int, checked_uint, divide, modulo


def negated(duration: Duration) -> Duration:
    """The duration backwards; raises `CelError`."""
    return Duration(checked_int(-duration.nanoseconds))


def _joined(left: Any, right: Any) -> Value:
    bounded(len(left) + len(right))
    return left + right


def _add_list(left: list[Value], right: list[Value]) -> list[Value]:
    bounded_members(len(left) + len(right))
    return left + right


def _divide_double(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _modulo_int(left: int, right: int) -> int:
    rest = modulo(left, right)
    # The quotient of the least int and -1 is no int, so that cel-go refuses this as well.
    checked_int(divide(left, right))
    return rest


OVERLOADS: Final = (
    overload("add_bytes: _+_(bytes, bytes) -> bytes", cost=costs.of_both)(_joined),
    *overloads(
        {
            "add_double: _+_(double, double) -> double": operator.add,
            "add_duration_duration: _+_(duration, duration) -> duration": (
                lambda left, right: Duration(checked_int(left.nanoseconds + right.nanoseconds))
            ),
            "add_duration_timestamp: _+_(duration, timestamp) -> timestamp": (
                lambda left, right: right.plus(left)
            ),
            "add_timestamp_duration: _+_(timestamp, duration) -> timestamp": Timestamp.plus,
            "add_int64: _+_(int, int) -> int": lambda left, right: checked_int(left + right),
            "add_list: _+_(list(A), list(A)) -> list(A)": _add_list,
        }
    ),
    overload("add_string: _+_(string, string) -> string", cost=costs.of_both)(_joined),
    *overloads(
        {
            "add_uint64: _+_(uint, uint) -> uint": (
                lambda left, right: checked_uint(int(left) + right)
            ),
            "subtract_double: _-_(double, double) -> double": operator.sub,
            "subtract_duration_duration: _-_(duration, duration) -> duration": (
                lambda left, right: Duration(checked_int(left.nanoseconds - right.nanoseconds))
            ),
            "subtract_int64: _-_(int, int) -> int": lambda left, right: checked_int(left - right),
            "subtract_timestamp_duration: _-_(timestamp, duration) -> timestamp": (
                lambda left, right: left.plus(negated(right))
            ),
            "subtract_timestamp_timestamp: _-_(timestamp, timestamp) -> duration": Timestamp.minus,
            "subtract_uint64: _-_(uint, uint) -> uint": (
                lambda left, right: checked_uint(int(left) - right)
            ),
            "multiply_double: _*_(double, double) -> double": operator.mul,
            "multiply_int64: _*_(int, int) -> int": lambda left, right: checked_int(left * right),
            "multiply_uint64: _*_(uint, uint) -> uint": (
                lambda left, right: checked_uint(int(left) * right)
            ),
            "divide_double: _/_(double, double) -> double": _divide_double,
            "divide_int64: _/_(int, int) -> int": (
                lambda left, right: checked_int(divide(left, right))
            ),
            "divide_uint64: _/_(uint, uint) -> uint": lambda left, right: Uint(divide(left, right)),
            "modulo_int64: _%_(int, int) -> int": _modulo_int,
            "modulo_uint64: _%_(uint, uint) -> uint": lambda left, right: Uint(modulo(left, right)),
            "negate_double: -_(double) -> double": operator.neg,
            "negate_int64: -_(int) -> int": lambda value: checked_int(-value),
        }
    ),
)
