"""Operators: conditions and equality; `+`, `-`, `*`, `/` and `%` of numbers within 64 bits, texts,
bytes, lists and times; `<`, `<=`, `>` and `>=` of two values of one type, and of any two numbers.

The order is cel-go's: where the types of operands are not known, the first one that fits shows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from chartkit.engine.cel.declarations import Implementation, Overload, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.costs import MAX_MEMBERS, bounded
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, STRING, TIMESTAMP
from chartkit.engine.cel.values import (
    Uint,
    Value,
    checked_int,
    checked_uint,
    divide,
    equal,
    modulo,
    same,
)

# The program gives conditions and equality their laziness; the code here is what is left when both
# sides are known.
_LOGIC: Final = overloads(
    {
        "conditional: _?_:_(bool, A, A) -> A": lambda condition, yes, no: yes if condition else no,
        "logical_and: _&&_(bool, bool) -> bool": lambda left, right: left and right,
        "logical_or: _||_(bool, bool) -> bool": lambda left, right: left or right,
        "logical_not: !_(bool) -> bool": operator.not_,
        "not_strictly_false: @not_strictly_false(bool) -> bool": lambda value: value is not False,
    }
)
_EQUALITY: Final = overloads(
    {
        "equals: _==_(A, A) -> bool": equal,
        "not_equals: _!=_(A, A) -> bool": lambda left, right: not same(left, right),
    },
    cost=costs.of_shorter,
)


def negated(duration: Duration) -> Duration:
    """The duration backwards; raises `CelError`."""
    return Duration(checked_int(-duration.nanoseconds))


def _joined(left: Any, right: Any) -> Value:
    bounded(len(left) + len(right))
    return left + right


def _add_list(left: list[Value], right: list[Value]) -> list[Value]:
    bounded(len(left) + len(right), MAX_MEMBERS)
    return left + right


def _divide_double(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _modulo_int(left: int, right: int) -> int:
    rest = modulo(left, right)
    # The quotient of the least int and -1 is not an int, so that cel-go refuses this as well.
    checked_int(divide(left, right))
    return rest


_ARITHMETIC: Final = (
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


_Comparison = Callable[[Any, Any], bool]

# In cel-go's order: where the type of an operand is not known, the first one that fits shows.
_OPERANDS = (
    ("bool", "bool", "bool"),
    ("int", "int", "int64"),
    ("int", "double", "int64_double"),
    ("int", "uint", "int64_uint64"),
    ("uint", "uint", "uint64"),
    ("uint", "double", "uint64_double"),
    ("uint", "int", "uint64_int64"),
    ("double", "double", "double"),
    ("double", "int", "double_int64"),
    ("double", "uint", "double_uint64"),
    ("string", "string", "string"),
    ("bytes", "bytes", "bytes"),
    ("timestamp", "timestamp", "timestamp"),
    ("duration", "duration", "duration"),
)
_OPERATORS: tuple[tuple[str, str, _Comparison], ...] = (
    ("_<_", "less", operator.lt),
    ("_<=_", "less_equals", operator.le),
    ("_>_", "greater", operator.gt),
    ("_>=_", "greater_equals", operator.ge),
)


def _as_doubles(compare: _Comparison) -> Implementation:
    # A number beyond 2^53 is rounded first, as cel-go does; NaN compares as false.
    def compare_doubles(left: float, right: float) -> bool:
        return compare(float(left), float(right))

    return compare_doubles


def _overloads() -> Iterator[Overload]:
    for function, name, compare in _OPERATORS:
        for left, right, suffix in _OPERANDS:
            mixed = left != right and "double" in (left, right)
            cost = costs.of_shorter if left in ("string", "bytes") else None
            yield overload(f"{name}_{suffix}: {function}({left}, {right}) -> bool", cost=cost)(
                _as_doubles(compare) if mixed else compare
            )


_ORDERING: Final = tuple(_overloads())


def _nan_is_unordered(left: Value, right: Value) -> bool:
    """NaN comes neither before nor after anything, of whatever type it is."""
    if any(isinstance(side, float) and math.isnan(side) for side in (left, right)):
        return False
    raise CelError("no such overload")


def _orderings(function: str) -> Iterator[Overload]:
    yield Overload(function, "unordered", (DOUBLE, DYN), BOOL, _nan_is_unordered)
    for kind in (BOOL, STRING, BYTES, TIMESTAMP, DURATION):
        yield Overload(function, f"unordered_{kind}", (kind, DOUBLE), BOOL, _nan_is_unordered)


OVERLOADS: Final = (*_LOGIC, *_EQUALITY, *_ARITHMETIC, *_ORDERING)

UNDECLARED: Final[Mapping[str, tuple[Overload, ...]]] = {
    "-_": (Overload("-_", "negate_duration", (DURATION,), DURATION, negated),),
    **{function: tuple(_orderings(function)) for function in ("_<_", "_<=_", "_>_", "_>=_")},
}
"""By function; they are tried after the declared overloads."""
