"""The macros of every environment: has, all, exists, exists_one, map and filter."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cel.ast import ACCUMULATOR, Expr, FoldKind, Ident, Select
from chartkit.engine.cel.declarations import Macro, macro
from chartkit.engine.cel.parser.building import Builder

_OLD_ACCUMULATOR = "__result__"
_ACCUMULATORS = frozenset({ACCUMULATOR, _OLD_ACCUMULATOR})
"""Names that no variable of a macro may have."""


def fold(
    make: Builder,
    kind: FoldKind,
    target: Expr | None,
    variables: Sequence[Expr],
    initial: Expr,
    condition: Expr,
    step: Expr,
    result: Expr | None = None,
    complaint: str = "argument must be a simple name",
) -> Expr | None:
    """The comprehension of a macro over a target with one variable or two; None without a target.

    result: by default the accumulator; complaint: about a variable that is not a name.
    """
    if target is None:
        return None
    names: list[str] = []
    for expr in variables:
        if not isinstance(expr, Ident):
            raise make.fail(expr, complaint)
        names.append(expr.name)
    if len(set(names)) < len(names):
        raise make.fail(variables[1], f"duplicate variable name: {names[0]}")
    for expr, name in zip(variables, names, strict=True):
        if name in _ACCUMULATORS:
            raise make.fail(expr, "iteration variable overwrites accumulator variable")
    return make.comprehension(
        target,
        names[0],
        initial,
        condition,
        step,
        make.ident(ACCUMULATOR) if result is None else result,
        iter_var2="".join(names[1:]),
        kind=kind,
    )


def has(make: Builder, _target: Expr | None, args: tuple[Expr, ...]) -> Expr:
    """`has(a.b)`: the selection as a question."""
    selection = args[0]
    if not isinstance(selection, Select):
        raise make.fail(selection, "invalid argument to has() macro")
    return make.select(selection.operand, selection.field, test_only=True)


def all_(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`items.all(x, condition)`, or with two variables."""
    *variables, condition = args
    unless_false = make.call("@not_strictly_false", make.ident(ACCUMULATOR))
    step = make.call("_&&_", make.ident(ACCUMULATOR), condition)
    return fold(make, FoldKind.ALL, target, variables, make.literal(True), unless_false, step)


def exists(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`items.exists(x, condition)`, or with two variables."""
    *variables, condition = args
    unless_true = make.call("@not_strictly_false", make.call("!_", make.ident(ACCUMULATOR)))
    step = make.call("_||_", make.ident(ACCUMULATOR), condition)
    return fold(make, FoldKind.ANY, target, variables, make.literal(False), unless_true, step)


def exists_one(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`items.exists_one(x, condition)`, or with two variables."""
    *variables, condition = args
    more = make.call("_+_", make.ident(ACCUMULATOR), make.literal(1))
    step = make.call("_?_:_", condition, more, make.ident(ACCUMULATOR))
    is_single = make.call("_==_", make.ident(ACCUMULATOR), make.literal(1))
    zero, always = make.literal(0), make.literal(True)
    return fold(make, FoldKind.ONE, target, variables, zero, always, step, is_single)


def mapped(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`list.map(x, transform)`, or with a condition between the two."""
    return _listed(make, target, args[0], args[1:-1], args[-1])


def _filter(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    return _listed(make, target, args[0], args[1:], args[0])


def _listed(
    make: Builder, target: Expr | None, variable: Expr, conditions: Sequence[Expr], element: Expr
) -> Expr | None:
    step = make.call("_+_", make.ident(ACCUMULATOR), make.list_literal(element))
    for condition in conditions:
        step = make.call("_?_:_", condition, step, make.ident(ACCUMULATOR))
    complaint = "argument is not an identifier"
    empty, always = make.list_literal(), make.literal(True)
    kind, variables = FoldKind.LIST, [variable]
    return fold(make, kind, target, variables, empty, always, step, complaint=complaint)


MACROS: tuple[Macro, ...] = (
    macro("has(field)", has),
    macro("items.all(x, condition)", all_),
    macro("items.exists(x, condition)", exists),
    macro("items.exists_one(x, condition)", exists_one),
    macro("items.map(x, result)", mapped),
    macro("items.map(x, condition, result)", mapped),
    macro("items.filter(x, condition)", _filter),
)
