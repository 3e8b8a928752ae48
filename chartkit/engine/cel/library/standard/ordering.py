"""`<`, `<=`, `>` and `>=`: of two values of one type, and of numbers of any two types."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from chartkit.engine.cel.declarations import Example, Implementation, Overload
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
)

_Comparison = Callable[[Any, Any], bool]

# In cel-go's order: where the type of an operand is not known, the first one that fits shows.
_OPERANDS = (
    (BOOL, BOOL, "bool"),
    (INT, INT, "int64"),
    (INT, DOUBLE, "int64_double"),
    (INT, UINT, "int64_uint64"),
    (UINT, UINT, "uint64"),
    (UINT, DOUBLE, "uint64_double"),
    (UINT, INT, "uint64_int64"),
    (DOUBLE, DOUBLE, "double"),
    (DOUBLE, INT, "double_int64"),
    (DOUBLE, UINT, "double_uint64"),
    (STRING, STRING, "string"),
    (BYTES, BYTES, "bytes"),
    (TIMESTAMP, TIMESTAMP, "timestamp"),
    (DURATION, DURATION, "duration"),
)
_OPERATORS: tuple[tuple[str, str, _Comparison, str, tuple[Example, ...]], ...] = (
    (
        "_<_",
        "less",
        operator.lt,
        "Whether the first value comes before the second.",
        (
            Example("1 < 1.5", "true"),
            Example("false < true", "true"),
            Example(
                "timestamp('2024-01-01T00:00:00Z') < timestamp('2025-01-01T00:00:00Z')", "true"
            ),
        ),
    ),
    (
        "_<=_",
        "less_equals",
        operator.le,
        "Whether the first value comes before the second or is the same.",
        (Example("'cat' <= 'cab'", "false"),),
    ),
    (
        "_>_",
        "greater",
        operator.gt,
        "Whether the first value comes after the second.",
        (Example("0u > -1", "true"),),
    ),
    (
        "_>=_",
        "greater_equals",
        operator.ge,
        "Whether the first value comes after the second or is the same.",
        (Example("duration('60s') >= duration('1m')", "true"),),
    ),
)


def _as_doubles(compare: _Comparison) -> Implementation:
    # A number beyond 2^53 is rounded first, as cel-go does; NaN compares as false.
    def compare_doubles(left: float, right: float) -> bool:
        return compare(float(left), float(right))

    return compare_doubles


def _overloads() -> Iterator[Overload]:
    for function, name, compare, doc, examples in _OPERATORS:
        shown = examples
        for left, right, suffix in _OPERANDS:
            code = compare
            if left is not right and DOUBLE in (left, right):
                code = _as_doubles(compare)
            cost = costs.of_shorter if left in (STRING, BYTES) else None
            yield Overload(
                function, f"{name}_{suffix}", (left, right), BOOL, code, cost=cost, doc=doc,
                examples=shown,
            )  # fmt: skip
            shown = ()


OVERLOADS: tuple[Overload, ...] = tuple(_overloads())
