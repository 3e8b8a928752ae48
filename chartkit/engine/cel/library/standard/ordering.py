"""`<`, `<=`, `>` and `>=`: of two values of one type, and of numbers of any two types."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from chartkit.engine.cel.declarations import Implementation, Overload, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.standard.arithmetic import negated
from chartkit.engine.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, STRING, TIMESTAMP
from chartkit.engine.cel.values import Value

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


OVERLOADS: tuple[Overload, ...] = tuple(_overloads())


def _nan_is_unordered(left: Value, right: Value) -> bool:
    """NaN comes neither before nor after anything, of whatever type it is."""
    if any(isinstance(each, float) and math.isnan(each) for each in (left, right)):
        return False
    raise CelError("no such overload")


def _orderings(function: str) -> Iterator[Overload]:
    yield Overload(function, "unordered", (DOUBLE, DYN), BOOL, _nan_is_unordered)
    for kind in (BOOL, STRING, BYTES, TIMESTAMP, DURATION):
        yield Overload(function, f"unordered_{kind}", (kind, DOUBLE), BOOL, _nan_is_unordered)


UNDECLARED: Final[Mapping[str, tuple[Overload, ...]]] = {
    "-_": (Overload("-_", "negate_duration", (DURATION,), DURATION, negated),),
    **{function: tuple(_orderings(function)) for function in ("_<_", "_<=_", "_>_", "_>=_")},
}
"""By function; they are tried after the declared overloads."""
