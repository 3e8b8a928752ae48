"""Macros of optional values: optMap and optFlatMap."""

from __future__ import annotations

from chartkit.engine.cel.ast import Expr, Ident
from chartkit.engine.cel.declarations import Builder, Macro, macro
from chartkit.engine.cel.macros.bindings import bound


def _unwrapped(
    make: Builder, target: Expr, args: tuple[Expr, ...], function: str
) -> tuple[Expr, Expr]:
    """Return whether the optional has a value, and the expression in which the variable is the
    value."""
    variable, result = args
    if not isinstance(variable, Ident):
        raise make.fail(variable, f"{function}() variable name must be a simple identifier")
    value = make.member_call(make.copy(target), "value")
    return make.member_call(target, "hasValue"), bound(make, variable.name, value, result)


def _opt_map(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    present, result = _unwrapped(make, target, args, "optMap")
    some, none = make.call("optional.of", result), make.call("optional.none")
    return make.call("_?_:_", present, some, none)


def _opt_flat_map(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    present, result = _unwrapped(make, target, args, "optFlatMap")
    return make.call("_?_:_", present, result, make.call("optional.none"))


MACROS: tuple[Macro, ...] = (
    macro(
        "optional.optMap(x, result)",
        _opt_map,
        "An optional of what the expression makes of the value; none where there is no value.",
        "optional.of(2).optMap(n, n * 2).value()  // 4",
    ),
    macro(
        "optional.optFlatMap(x, result)",
        _opt_flat_map,
        "The optional that the expression makes of the value; none where there is no value.",
        "optional.of({'a': 1}).optFlatMap(m, m.?b).hasValue()  // false",
    ),
)
