"""The expansions of `transformMap` and `transformMapEntry`: maps that grow entry by entry."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.library.sizes import bounded_members
from chartkit.engine.cel.library.standard.containers import find_key
from chartkit.engine.cel.macros.two_variable import MACROS
from chartkit.engine.cel.types import K, V, map_of
from chartkit.engine.cel.values import KeyedMap, Value

_MAP: Final = map_of(K, V)
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


LIBRARY: Final = Library(
    "cel.lib.ext.comprev2",
    overloads=declared(globals()),
    macros=MACROS,
    doc="Comprehensions with two variables.",
)
