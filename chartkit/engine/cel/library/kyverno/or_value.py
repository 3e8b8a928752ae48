"""Kyverno's own `orValue`: a value that is not an optional is taken as it is."""

from __future__ import annotations

from chartkit.engine.cel.ast import Expr
from chartkit.engine.cel.declarations import Library, Macro, declared, macro, overload
from chartkit.engine.cel.parser.building import Builder
from chartkit.engine.cel.values import OptionalValue, Value


@overload("__orValueCompat___dyn_dyn: __orValueCompat__(dyn, dyn) -> dyn")
def or_value(value: Value, other: Value) -> Value:
    if not isinstance(value, OptionalValue):
        return value
    return value.value if value.present else other


COMPATIBLE = "__orValueCompat__"
"""The function that a call of `orValue` becomes."""


def _or_value(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    return None if target is None else make.call(COMPATIBLE, target, args[0])


MACROS: tuple[Macro, ...] = (macro("value.orValue(other)", _or_value),)

LIBRARY = Library("kyverno.orvalue", overloads=declared(globals()), macros=MACROS)
