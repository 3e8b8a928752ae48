"""Kyverno's own `orValue`, which takes values that are not optional as they are."""

from __future__ import annotations

from chartkit.engine.cel.ast import Expr
from chartkit.engine.cel.declarations import Builder, Macro, macro

COMPATIBLE = "__orValueCompat__"
"""The function that a call of `orValue` becomes."""


def _or_value(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    return None if target is None else make.call(COMPATIBLE, target, args[0])


MACROS: tuple[Macro, ...] = (
    macro(
        "value.orValue(other)",
        _or_value,
        "The value of an optional, or the argument where it has none; a value that is not "
        "optional is itself.",
        "{'a': 1}.?b.orValue(2)  // 2",
        "{'a': 1}.a.orValue(2)  // 1",
    ),
)
