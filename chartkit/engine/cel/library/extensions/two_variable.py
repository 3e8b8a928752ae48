"""The expansions of `transformMap` and `transformMapEntry`: maps that grow entry by entry."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.ast import ACCUMULATOR, Expr, Ident
from chartkit.engine.cel.declarations import Library, Macro, declared, macro, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import bounded_members
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.library.standard.containers import find_key
from chartkit.engine.cel.library.standard.macros import all_, exists, exists_one, fold
from chartkit.engine.cel.parser.building import Builder
from chartkit.engine.cel.values import KeyedMap, Value

_MISSING: Final = object()
_INSERT: Final = "A map with more entries; a key that it has already is an error."


@overload("@mapInsert_map_key_value: cel.@mapInsert(map(K, V), K, V) -> map(K, V)", _INSERT)
def insert_entry(entries: dict[Value, Value], key: Value, value: Value) -> dict[Value, Value]:
    more = {key: value} if key.__class__ is str else KeyedMap([(key, value)])
    return insert_map.implementation(entries, more)  # type: ignore[no-any-return]


@overload("@mapInsert_map_map: cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)", _INSERT)
def insert_map(entries: dict[Value, Value], more: dict[Value, Value]) -> dict[Value, Value]:
    bounded_members(len(entries) + len(more))
    for key in more:
        if find_key(entries, key, _MISSING) is not _MISSING:
            raise CelError(f"insert failed: key {show(key)} already exists")
    if isinstance(entries, KeyedMap) or isinstance(more, KeyedMap):
        return KeyedMap([*entries.items(), *more.items()])
    return {**entries, **more}


_INSERT_FUNCTION: Final = "cel.@mapInsert"
"""The function that adds an entry, or the entries of a map, to a map."""


def _gathered(
    make: Builder, target: Expr | None, args: tuple[Expr, ...], empty: Expr, step: Expr
) -> Expr | None:
    """A comprehension that adds to an empty list or map where the condition, if any, holds."""
    if len(args) == 4:
        step = make.call("_?_:_", args[2], step, make.ident(ACCUMULATOR))
    return fold(make, target, args[:2], empty, make.literal(True), step)


def _transform_list(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    step = make.call("_+_", make.ident(ACCUMULATOR), make.list_literal(args[-1]))
    return _gathered(make, target, args, make.list_literal(), step)


def _transform_map(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    key = make.ident(args[0].name) if isinstance(args[0], Ident) else args[0]
    step = make.call(_INSERT_FUNCTION, make.ident(ACCUMULATOR), key, args[-1])
    return _gathered(make, target, args, make.map_literal(), step)


def _transform_map_entry(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    step = make.call(_INSERT_FUNCTION, make.ident(ACCUMULATOR), args[-1])
    return _gathered(make, target, args, make.map_literal(), step)


MACROS: tuple[Macro, ...] = (
    macro(
        "items.all(i, x, condition)",
        all_,
        "Whether every index and element of a list, or key and value of a map, satisfies the "
        "condition.",
        "{'a': 1}.all(key, value, key == 'a' && value == 1)  // true",
    ),
    macro(
        "items.exists(i, x, condition)",
        exists,
        "Whether any index and element of a list, or key and value of a map, satisfies the "
        "condition.",
        "[5, 6].exists(i, n, i == 1 && n == 6)  // true",
    ),
    *(
        macro(
            f"items.{name}(i, x, condition)",
            exists_one,
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

LIBRARY: Final = Library(
    "cel.lib.ext.comprev2",
    overloads=declared(globals()),
    macros=MACROS,
    doc="Comprehensions with two variables.",
)
