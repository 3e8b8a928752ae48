"""`math.greatest` and `math.least`, which take any number of arguments or one list."""

from __future__ import annotations

from chartkit.engine.cel.ast import Expr, ListLiteral, Literal, MapLiteral, StructLiteral
from chartkit.engine.cel.declarations import Builder, Expander, Macro, macro
from chartkit.engine.cel.macros.bindings import is_namespace
from chartkit.engine.cel.values import Uint

_NUMBERS = (int, float, Uint)


def _may_be_number(expr: Expr) -> bool:
    """Return whether an argument is not plainly something else than a number."""
    if isinstance(expr, Literal):
        return expr.value.__class__ in _NUMBERS
    return not isinstance(expr, ListLiteral | MapLiteral | StructLiteral)


def _is_number_list(expr: Expr) -> bool:
    return (
        isinstance(expr, ListLiteral)
        and bool(expr.elements)
        and all(map(_may_be_number, expr.elements))
    )


def _extreme(name: str, function: str) -> Expander:
    def expand(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
        if not is_namespace(target, "math"):
            return None
        if not args:
            raise make.fail(target, f"{name}() requires at least one argument")
        if len(args) == 1:
            if not (_is_number_list(args[0]) or _may_be_number(args[0])):
                raise make.fail(args[0], f"{name}() invalid single argument value")
            return make.call(function, args[0])
        for arg in args:
            if not _may_be_number(arg):
                raise make.fail(arg, f"{name}() simple literal arguments must be numeric")
        if len(args) == 2:
            return make.call(function, *args)
        return make.call(function, make.list_literal(*args))

    return expand


MACROS: tuple[Macro, ...] = (
    macro(
        "math.greatest(…)",
        _extreme("math.greatest", "math.@max"),
        "The greatest of some numbers, or of the numbers of a list: `math.greatest(a, b)`.",
        "math.greatest(1, 3, 2)  // 3",
        "math.greatest([1, 2])  // 2",
        any_number=True,
    ),
    macro(
        "math.least(…)",
        _extreme("math.least", "math.@min"),
        "The least of some numbers, or of the numbers of a list: `math.least(a, b)`.",
        "math.least(3, 1, 2)  // 1",
        "math.least([1.5, 0.5])  // 0.5",
        any_number=True,
    ),
)
