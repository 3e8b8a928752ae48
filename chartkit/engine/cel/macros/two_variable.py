"""Macros with two variables: index and element of a list, key and value of a map."""

from __future__ import annotations

from chartkit.engine.cel.ast import ACCUMULATOR, Expr, Ident
from chartkit.engine.cel.declarations import Builder, Macro, macro
from chartkit.engine.cel.macros.standard import ACCUMULATORS

INSERT = "cel.@mapInsert"
"""The function that adds an entry, or the entries of a map, to a map."""


def _variables(make: Builder, args: tuple[Expr, ...]) -> tuple[str, str]:
    names: list[str] = []
    for expr in args[:2]:
        if not isinstance(expr, Ident):
            raise make.fail(expr, "argument must be a simple name")
        names.append(expr.name)
    if names[0] == names[1]:
        raise make.fail(args[1], f"duplicate variable name: {names[0]}")
    for expr, name in zip(args, names, strict=False):
        if name in ACCUMULATORS:
            raise make.fail(expr, "iteration variable overwrites accumulator variable")
    return names[0], names[1]


def _all(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    first, second = _variables(make, args)
    return make.comprehension(
        target,
        first,
        make.literal(True),
        make.call("@not_strictly_false", make.ident(ACCUMULATOR)),
        make.call("_&&_", make.ident(ACCUMULATOR), args[2]),
        make.ident(ACCUMULATOR),
        iter_var2=second,
    )


def _exists(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    first, second = _variables(make, args)
    return make.comprehension(
        target,
        first,
        make.literal(False),
        make.call("@not_strictly_false", make.call("!_", make.ident(ACCUMULATOR))),
        make.call("_||_", make.ident(ACCUMULATOR), args[2]),
        make.ident(ACCUMULATOR),
        iter_var2=second,
    )


def _exists_one(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    first, second = _variables(make, args)
    more = make.call("_+_", make.ident(ACCUMULATOR), make.literal(1))
    return make.comprehension(
        target,
        first,
        make.literal(0),
        make.literal(True),
        make.call("_?_:_", args[2], more, make.ident(ACCUMULATOR)),
        make.call("_==_", make.ident(ACCUMULATOR), make.literal(1)),
        iter_var2=second,
    )


def _gathered(
    make: Builder,
    target: Expr,
    args: tuple[Expr, ...],
    variables: tuple[str, str],
    empty: Expr,
    step: Expr,
) -> Expr:
    """A comprehension that adds to an empty list or map where the condition, if any, holds."""
    if len(args) == 4:
        step = make.call("_?_:_", args[2], step, make.ident(ACCUMULATOR))
    return make.comprehension(
        target,
        variables[0],
        empty,
        make.literal(True),
        step,
        make.ident(ACCUMULATOR),
        iter_var2=variables[1],
    )


def _transform_list(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    variables = _variables(make, args)
    step = make.call("_+_", make.ident(ACCUMULATOR), make.list_literal(args[-1]))
    return _gathered(make, target, args, variables, make.list_literal(), step)


def _transform_map(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    variables = _variables(make, args)
    step = make.call(INSERT, make.ident(ACCUMULATOR), make.ident(variables[0]), args[-1])
    return _gathered(make, target, args, variables, make.map_literal(), step)


def _transform_map_entry(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None:
        return None
    variables = _variables(make, args)
    step = make.call(INSERT, make.ident(ACCUMULATOR), args[-1])
    return _gathered(make, target, args, variables, make.map_literal(), step)


MACROS: tuple[Macro, ...] = (
    macro(
        "items.all(i, x, condition)",
        _all,
        "Whether every index and element of a list, or key and value of a map, satisfies the "
        "condition.",
        "{'a': 1}.all(key, value, key == 'a' && value == 1)  // true",
    ),
    macro(
        "items.exists(i, x, condition)",
        _exists,
        "Whether any index and element of a list, or key and value of a map, satisfies the "
        "condition.",
        "[5, 6].exists(i, n, i == 1 && n == 6)  // true",
    ),
    *(
        macro(
            f"items.{name}(i, x, condition)",
            _exists_one,
            "Whether exactly one index and element of a list, or key and value of a map, "
            "satisfies the condition.",
            f"[5, 6].{name}(i, n, i + n > 5)  // true",
        )
        for name in ("existsOne", "exists_one")
    ),
    macro(
        "items.transformList(i, x, result)",
        _transform_list,
        "The list of what the expression makes of each index and element, or key and value.",
        "[5, 6].transformList(i, n, i + n)  // [5, 7]",
    ),
    macro(
        "items.transformList(i, x, condition, result)",
        _transform_list,
        "The list of what the last expression makes of the entries that satisfy the condition.",
        "[5, 6].transformList(i, n, i > 0, n)  // [6]",
    ),
    macro(
        "items.transformMap(i, x, result)",
        _transform_map,
        "A map with the same keys (of a list: its indices) and the values that the expression "
        "makes.",
        "{'a': 1}.transformMap(key, value, value + 1)  // {'a': 2}",
    ),
    macro(
        "items.transformMap(i, x, condition, result)",
        _transform_map,
        "A map with the keys whose entries satisfy the condition, and the values that the last "
        "expression makes.",
        "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)  // {'b': 2}",
    ),
    macro(
        "items.transformMapEntry(i, x, entry)",
        _transform_map_entry,
        "A map of all the entries of the maps that the expression makes; the same key twice is "
        "an error.",
        "{'a': 'b'}.transformMapEntry(k, v, {v: k})  // {'b': 'a'}",
    ),
    macro(
        "items.transformMapEntry(i, x, condition, entry)",
        _transform_map_entry,
        "A map of the entries of the maps that the last expression makes of the entries that "
        "satisfy the condition.",
        "[3, 4].transformMapEntry(i, n, i > 0, {n: i})  // {4: 1}",
    ),
)
