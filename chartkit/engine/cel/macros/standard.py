"""The macros of every environment: has, all, exists, exists_one, map and filter."""

from __future__ import annotations

from chartkit.engine.cel.ast import ACCUMULATOR, Expr, Ident, Select
from chartkit.engine.cel.declarations import Builder, Macro, macro

_OLD_ACCUMULATOR = "__result__"
ACCUMULATORS = frozenset({ACCUMULATOR, _OLD_ACCUMULATOR})
"""Names that no variable of a macro may have."""


def _variable(make: Builder, expr: Expr, complaint: str) -> str:
    if not isinstance(expr, Ident):
        raise make.fail(expr, complaint)
    if expr.name in ACCUMULATORS:
        raise make.fail(expr, "iteration variable overwrites accumulator variable")
    return expr.name


def _quantified(make: Builder, args: tuple[Expr, ...]) -> tuple[str, Expr]:
    return _variable(make, args[0], "argument must be a simple name"), args[1]


def has(make: Builder, _target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    """`has(a.b)`: the selection as a question."""
    selection = args[0]
    if not isinstance(selection, Select):
        raise make.fail(selection, "invalid argument to has() macro")
    return make.select(selection.operand, selection.field, test_only=True)


def _all(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    variable, condition = _quantified(make, args)
    return make.comprehension(
        target,
        variable,
        make.literal(True),
        make.call("@not_strictly_false", make.ident(ACCUMULATOR)),
        make.call("_&&_", make.ident(ACCUMULATOR), condition),
        make.ident(ACCUMULATOR),
    )


def _exists(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    variable, condition = _quantified(make, args)
    return make.comprehension(
        target,
        variable,
        make.literal(False),
        make.call("@not_strictly_false", make.call("!_", make.ident(ACCUMULATOR))),
        make.call("_||_", make.ident(ACCUMULATOR), condition),
        make.ident(ACCUMULATOR),
    )


def _exists_one(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    variable, condition = _quantified(make, args)
    more = make.call("_+_", make.ident(ACCUMULATOR), make.literal(1))
    return make.comprehension(
        target,
        variable,
        make.literal(0),
        make.literal(True),
        make.call("_?_:_", condition, more, make.ident(ACCUMULATOR)),
        make.call("_==_", make.ident(ACCUMULATOR), make.literal(1)),
    )


def mapped(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`list.map(x, transform)`, or with a condition between the two."""
    if target is None:
        return None
    variable = _variable(make, args[0], "argument is not an identifier")
    step = make.call("_+_", make.ident(ACCUMULATOR), make.list_literal(args[-1]))
    if len(args) == 3:
        step = make.call("_?_:_", args[1], step, make.ident(ACCUMULATOR))
    return make.comprehension(
        target,
        variable,
        make.list_literal(),
        make.literal(True),
        step,
        make.ident(ACCUMULATOR),
    )


def _filter(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    variable = _variable(make, args[0], "argument is not an identifier")
    step = make.call("_+_", make.ident(ACCUMULATOR), make.list_literal(args[0]))
    return make.comprehension(
        target,
        variable,
        make.list_literal(),
        make.literal(True),
        make.call("_?_:_", args[1], step, make.ident(ACCUMULATOR)),
        make.ident(ACCUMULATOR),
    )


MACROS: tuple[Macro, ...] = (
    macro(
        "has(field)",
        has,
        "Whether a field or a key is there; its argument is a selection.",
        "has({'a': 1}.a)  // true",
        "has({'a': 1}.b)  // false",
    ),
    macro(
        "items.all(x, condition)",
        _all,
        "Whether every element of a list, or key of a map, satisfies the condition. "
        "Like `&&` it absorbs errors where another element decides.",
        "[1, 2, 3].all(n, n > 0)  // true",
        "{'a': 1}.all(key, key == 'b')  // false",
    ),
    macro(
        "items.exists(x, condition)",
        _exists,
        "Whether any element of a list, or key of a map, satisfies the condition. "
        "Like `||` it absorbs errors where another element decides.",
        "[1, 2, 3].exists(n, n > 2)  // true",
        "[].exists(n, n > 2)  // false",
    ),
    macro(
        "items.exists_one(x, condition)",
        _exists_one,
        "Whether exactly one element of a list, or key of a map, satisfies the condition.",
        "[1, 2, 2].exists_one(n, n == 2)  // false",
    ),
    macro(
        "items.map(x, result)",
        mapped,
        "The list of what the expression makes of each element of a list, or key of a map.",
        "[1, 2, 3].map(n, n * 2)  // [2, 4, 6]",
    ),
    macro(
        "items.map(x, condition, result)",
        mapped,
        "The list of what the last expression makes of the elements that satisfy the condition.",
        "[1, 2, 3].map(n, n > 1, n * 2)  // [4, 6]",
    ),
    macro(
        "items.filter(x, condition)",
        _filter,
        "The list of the elements of a list, or keys of a map, that satisfy the condition.",
        "[1, 2, 3].filter(n, n > 1)  // [2, 3]",
    ),
)
