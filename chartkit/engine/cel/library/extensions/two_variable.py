"""The expansions of `transformMap` and `transformMapEntry`: maps that grow entry by entry."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.ast import ACCUMULATOR, Expr, FoldKind, Ident
from chartkit.engine.cel.declarations import Library, Macro, declared, macro, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import MAX_MEMBERS, bounded
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.library.standard.containers import find_key
from chartkit.engine.cel.library.standard.macros import all_, exists, exists_one, fold
from chartkit.engine.cel.parser.building import Builder
from chartkit.engine.cel.values import KeyedMap, Value

_MISSING: Final = object()


@overload("@mapInsert_map_key_value: cel.@mapInsert(map(K, V), K, V) -> map(K, V)")
def insert_entry(entries: dict[Value, Value], key: Value, value: Value) -> dict[Value, Value]:
    more = {key: value} if key.__class__ is str else KeyedMap([(key, value)])
    return insert_map.implementation(entries, more)  # type: ignore[no-any-return]


@overload("@mapInsert_map_map: cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)")
def insert_map(entries: dict[Value, Value], more: dict[Value, Value]) -> dict[Value, Value]:
    bounded(len(entries) + len(more), MAX_MEMBERS)
    for key in more:
        if find_key(entries, key, _MISSING) is not _MISSING:
            raise CelError(f"insert failed: key {show(key)} already exists")
    if isinstance(entries, KeyedMap) or isinstance(more, KeyedMap):
        return KeyedMap([*entries.items(), *more.items()])
    return {**entries, **more}


_INSERT_FUNCTION: Final = "cel.@mapInsert"
"""The function that adds an entry, or the entries of a map, to a map."""


def _gathered(
    make: Builder, kind: FoldKind, target: Expr | None, args: tuple[Expr, ...], step: Expr
) -> Expr | None:
    """A comprehension that adds to an empty list or map where the condition, if any, holds."""
    empty = make.list_literal() if kind is FoldKind.LIST else make.map_literal()
    if len(args) == 4:
        step = make.call("_?_:_", args[2], step, make.ident(ACCUMULATOR))
    return fold(make, kind, target, args[:2], empty, make.literal(True), step)


def _transform_list(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    step = make.call("_+_", make.ident(ACCUMULATOR), make.list_literal(args[-1]))
    return _gathered(make, FoldKind.LIST, target, args, step)


def _transform_map(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    key = make.ident(args[0].name) if isinstance(args[0], Ident) else args[0]
    step = make.call(_INSERT_FUNCTION, make.ident(ACCUMULATOR), key, args[-1])
    return _gathered(make, FoldKind.MAP, target, args, step)


def _transform_map_entry(make: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    step = make.call(_INSERT_FUNCTION, make.ident(ACCUMULATOR), args[-1])
    return _gathered(make, FoldKind.MAP, target, args, step)


MACROS: tuple[Macro, ...] = (
    macro("items.all(i, x, condition)", all_),
    macro("items.exists(i, x, condition)", exists),
    *(macro(f"items.{name}(i, x, condition)", exists_one) for name in ("existsOne", "exists_one")),
    macro("items.transformList(i, x, result)", _transform_list),
    macro("items.transformList(i, x, condition, result)", _transform_list),
    macro("items.transformMap(i, x, result)", _transform_map),
    macro("items.transformMap(i, x, condition, result)", _transform_map),
    macro("items.transformMapEntry(i, x, entry)", _transform_map_entry),
    macro("items.transformMapEntry(i, x, condition, entry)", _transform_map_entry),
)

LIBRARY: Final = Library("cel.lib.ext.comprev2", overloads=declared(globals()), macros=MACROS)
