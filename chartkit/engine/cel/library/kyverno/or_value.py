"""Kyverno's own `orValue`: a value that is no optional is taken as it is."""

from __future__ import annotations

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.macros.or_value import MACROS
from chartkit.engine.cel.values import OptionalValue, Value


@overload(
    "__orValueCompat___dyn_dyn: __orValueCompat__(dyn, dyn) -> dyn",
    "What the macro `orValue` stands for.",
)
def or_value(value: Value, other: Value) -> Value:
    if not isinstance(value, OptionalValue):
        return value
    return value.value if value.present else other


LIBRARY = Library(
    "kyverno.orvalue",
    overloads=declared(globals()),
    macros=MACROS,
    doc="Values of optionals, and of what is no optional.",
)
