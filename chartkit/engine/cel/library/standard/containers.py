"""`[]`, `in` and `size`."""

from __future__ import annotations

from collections.abc import Mapping

from chartkit.engine.cel.declarations import Overload, overload, overloads
from chartkit.engine.cel.errors import CelError, Stopped
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.values import KeyedMap, Uint, Value, lossless_int, same, type_of

_MISSING = object()

UNHASHABLE_BYTES = "internal error: runtime error: hash of unhashable type types.Bytes"
"""Bytes are not a key of a map that an expression makes, nor can they be looked for in one."""


def list_index(index: Value) -> int:
    """Return the index of a list that a value denotes; raises `CelError` for any other value."""
    number = lossless_int(index)
    if number is not None:
        if number < 2**63:
            return number
    elif index.__class__ is not float:
        raise CelError(f"unsupported index type '{type_of(index)}' in list")
    raise CelError(f"unsupported index value {show(index)} in list")


def find_key(entries: Mapping[object, Value], key: Value, default: Value) -> Value:
    """The value under a key; a number finds a key of its value, whatever the type of either."""
    kind = key.__class__
    if kind is str and entries.__class__ is dict:
        return entries.get(key, default)
    if isinstance(entries, KeyedMap):
        if kind is bytes and entries:
            raise Stopped(UNHASHABLE_BYTES)
        return entries.find(key, default)
    if kind is str:
        return entries.get(key, default)
    if kind is bool:
        # Python holds true for 1.
        return entries[key] if any(entry is key for entry in entries) else default
    number = lossless_int(key)
    if number is None:
        return default
    value = entries.get(number, default)
    if number in (0, 1) and value is not default and not _has_number(entries, number):
        return default
    return value


def _has_number(entries: Mapping[object, Value], number: int) -> bool:
    return any(entry == number and entry.__class__ in (int, Uint) for entry in entries)


@overload("index_list: _[_](list(A), int) -> A")
def index_list(members: list[Value], index: Value) -> Value:
    position = list_index(index)
    if 0 <= position < len(members):
        return members[position]
    raise CelError(f"index out of bounds: {position}")


@overload("index_map: _[_](map(A, B), A) -> B")
def index_map(entries: Mapping[object, Value], key: Value) -> Value:
    value = find_key(entries, key, _MISSING)
    if value is _MISSING:
        raise CelError(f"no such key: {show(key)}")
    return value


@overload("in_list: @in(A, list(A)) -> bool", cost=costs.of_membership)
def in_list(value: Value, members: list[Value]) -> bool:
    return any(same(value, member) for member in members)


@overload("in_map: @in(A, map(A, B)) -> bool")
def in_map(key: Value, entries: Mapping[object, Value]) -> bool:
    return find_key(entries, key, _MISSING) is not _MISSING


OVERLOADS: tuple[Overload, ...] = (
    index_list,
    index_map,
    in_list,
    in_map,
    *overloads(
        {
            "size_bytes: size(bytes) -> int": len,
            "bytes_size: bytes.size() -> int": len,
            "size_list: size(list(A)) -> int": len,
            "list_size: list(A).size() -> int": len,
            "size_map: size(map(A, B)) -> int": len,
            "map_size: map(A, B).size() -> int": len,
            "size_string: size(string) -> int": len,
            "string_size: string.size() -> int": len,
        }
    ),
)
