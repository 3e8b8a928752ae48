"""Macros of optional values: optMap and optFlatMap."""

from __future__ import annotations

from chartkit.engine.cel.ast import Expr, Ident
from chartkit.engine.cel.declarations import Builder, Example, Macro
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
    Macro(
        "optMap",
        usage="optional.optMap(x, result)",
        receiver=True,
        arguments=2,
        expand=_opt_map,
        doc="An optional of what the expression makes of the value; none where there is no value.",
        examples=(Example("optional.of(2).optMap(n, n * 2).value()", "4"),),
    ),
    Macro(
        "optFlatMap",
        usage="optional.optFlatMap(x, result)",
        receiver=True,
        arguments=2,
        expand=_opt_flat_map,
        doc="The optional that the expression makes of the value; none where there is no value.",
        examples=(Example("optional.of({'a': 1}).optFlatMap(m, m.?b).hasValue()", "false"),),
    ),
)
