"""`+`, `-`, `*`, `/` and `%`: numbers within 64 bits, texts, bytes, lists, times."""

from __future__ import annotations

import math

from chartkit.engine.cel.declarations import Example, Overload, overload
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.sizes import bounded, bounded_members
from chartkit.engine.cel.numbers import checked_int, checked_uint, divide, modulo
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import (
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    list_of,
)
from chartkit.engine.cel.values import Uint, Value

_ADD = "The sum of two numbers or times; two texts, bytes or lists, one after the other."
_SUBTRACT = "The difference of two numbers or times."
_MULTIPLY = "The product of two numbers."
_DIVIDE = "The quotient; of whole numbers it is cut towards zero."
_MODULO = "What a division of whole numbers leaves; it has the sign of the first."
_NEGATE = "The number with the other sign."


@overload(
    "_+_",
    "add_int64",
    INT,
    INT,
    returns=INT,
    doc=_ADD,
    examples=(
        Example("1 + 2", "3"),
        Example("'a' + 'b'", "'ab'"),
        Example("[1] + [2, 3]", "[1, 2, 3]"),
        Example("duration('1m') + duration('1s')", "duration('61s')"),
        Example("9223372036854775807 + 1", "integer overflow", error=True),
    ),
)
def add_int(left: int, right: int) -> int:
    return checked_int(left + right)


@overload("_+_", "add_uint64", UINT, UINT, returns=UINT, doc=_ADD)
def add_uint(left: Uint, right: Uint) -> Uint:
    return checked_uint(int(left) + right)


@overload("_+_", "add_double", DOUBLE, DOUBLE, returns=DOUBLE, doc=_ADD)
def add_double(left: float, right: float) -> float:
    return left + right


@overload("_+_", "add_string", STRING, STRING, returns=STRING, cost=costs.of_both, doc=_ADD)
def add_string(left: str, right: str) -> str:
    bounded(len(left) + len(right))
    return left + right


@overload("_+_", "add_bytes", BYTES, BYTES, returns=BYTES, cost=costs.of_both, doc=_ADD)
def add_bytes(left: bytes, right: bytes) -> bytes:
    bounded(len(left) + len(right))
    return left + right


@overload("_+_", "add_list", list_of(A), list_of(A), returns=list_of(A), doc=_ADD)
def add_list(left: list[Value], right: list[Value]) -> list[Value]:
    bounded_members(len(left) + len(right))
    return left + right


@overload("_+_", "add_duration_duration", DURATION, DURATION, returns=DURATION, doc=_ADD)
def add_durations(left: Duration, right: Duration) -> Duration:
    return Duration(checked_int(left.nanoseconds + right.nanoseconds))


@overload("_+_", "add_duration_timestamp", DURATION, TIMESTAMP, returns=TIMESTAMP, doc=_ADD)
def add_duration_timestamp(left: Duration, right: Timestamp) -> Timestamp:
    return right.plus(left)


@overload("_+_", "add_timestamp_duration", TIMESTAMP, DURATION, returns=TIMESTAMP, doc=_ADD)
def add_timestamp_duration(left: Timestamp, right: Duration) -> Timestamp:
    return left.plus(right)


@overload(
    "_-_",
    "subtract_int64",
    INT,
    INT,
    returns=INT,
    doc=_SUBTRACT,
    examples=(
        Example("5 - 7", "-2"),
        Example("timestamp('2024-01-02T00:00:00Z') - duration('12h')",
                "timestamp('2024-01-01T12:00:00Z')"),
        Example("1u - 2u", "unsigned integer overflow", error=True),
    ),
)  # fmt: skip
def subtract_int(left: int, right: int) -> int:
    return checked_int(left - right)


@overload("_-_", "subtract_uint64", UINT, UINT, returns=UINT, doc=_SUBTRACT)
def subtract_uint(left: Uint, right: Uint) -> Uint:
    return checked_uint(int(left) - right)


@overload("_-_", "subtract_double", DOUBLE, DOUBLE, returns=DOUBLE, doc=_SUBTRACT)
def subtract_double(left: float, right: float) -> float:
    return left - right


@overload("_-_", "subtract_duration_duration", DURATION, DURATION, returns=DURATION, doc=_SUBTRACT)
def subtract_durations(left: Duration, right: Duration) -> Duration:
    return Duration(checked_int(left.nanoseconds - right.nanoseconds))


@overload(
    "_-_", "subtract_timestamp_duration", TIMESTAMP, DURATION, returns=TIMESTAMP, doc=_SUBTRACT
)
def subtract_timestamp_duration(left: Timestamp, right: Duration) -> Timestamp:
    return left.plus(negated(right))


@overload(
    "_-_", "subtract_timestamp_timestamp", TIMESTAMP, TIMESTAMP, returns=DURATION, doc=_SUBTRACT
)
def subtract_timestamps(left: Timestamp, right: Timestamp) -> Duration:
    return left.minus(right)


@overload(
    "_*_",
    "multiply_int64",
    INT,
    INT,
    returns=INT,
    doc=_MULTIPLY,
    examples=(Example("-2 * 6", "-12"), Example("3.5 * 4.0", "14.0")),
)
def multiply_int(left: int, right: int) -> int:
    return checked_int(left * right)


@overload("_*_", "multiply_uint64", UINT, UINT, returns=UINT, doc=_MULTIPLY)
def multiply_uint(left: Uint, right: Uint) -> Uint:
    return checked_uint(int(left) * right)


@overload("_*_", "multiply_double", DOUBLE, DOUBLE, returns=DOUBLE, doc=_MULTIPLY)
def multiply_double(left: float, right: float) -> float:
    return left * right


@overload(
    "_/_",
    "divide_int64",
    INT,
    INT,
    returns=INT,
    doc=_DIVIDE,
    examples=(
        Example("-7 / 2", "-3"),
        Example("7.0 / 2.0", "3.5"),
        Example("1 / 0", "division by zero", error=True),
    ),
)
def divide_int(left: int, right: int) -> int:
    return checked_int(divide(left, right))


@overload("_/_", "divide_uint64", UINT, UINT, returns=UINT, doc=_DIVIDE)
def divide_uint(left: Uint, right: Uint) -> Uint:
    return Uint(divide(left, right))


@overload("_/_", "divide_double", DOUBLE, DOUBLE, returns=DOUBLE, doc=_DIVIDE)
def divide_double(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


@overload(
    "_%_",
    "modulo_int64",
    INT,
    INT,
    returns=INT,
    doc=_MODULO,
    examples=(Example("-7 % 2", "-1"), Example("1 % 0", "modulus by zero", error=True)),
)
def modulo_int(left: int, right: int) -> int:
    rest = modulo(left, right)
    # The quotient of the least int and -1 is no int, so that cel-go refuses this as well.
    checked_int(divide(left, right))
    return rest


@overload("_%_", "modulo_uint64", UINT, UINT, returns=UINT, doc=_MODULO)
def modulo_uint(left: Uint, right: Uint) -> Uint:
    return Uint(modulo(left, right))


@overload(
    "-_",
    "negate_int64",
    INT,
    returns=INT,
    doc=_NEGATE,
    examples=(Example("-(2 + 3)", "-5"),),
)
def negate_int(value: int) -> int:
    return checked_int(-value)


@overload("-_", "negate_double", DOUBLE, returns=DOUBLE, doc=_NEGATE)
def negate_double(value: float) -> float:
    return -value


def negated(duration: Duration) -> Duration:
    """The duration backwards; raises `CelError`."""
    return Duration(checked_int(-duration.nanoseconds))


# In cel-go's order: where the types of operands are not known, the first one that fits shows.
OVERLOADS: tuple[Overload, ...] = (
    add_bytes,
    add_double,
    add_durations,
    add_duration_timestamp,
    add_timestamp_duration,
    add_int,
    add_list,
    add_string,
    add_uint,
    subtract_double,
    subtract_durations,
    subtract_int,
    subtract_timestamp_duration,
    subtract_timestamps,
    subtract_uint,
    multiply_double,
    multiply_int,
    multiply_uint,
    divide_double,
    divide_int,
    divide_uint,
    modulo_int,
    modulo_uint,
    negate_double,
    negate_int,
)
