"""`[]`, `in` and `size`."""

from __future__ import annotations

from collections.abc import Mapping

from chartkit.engine.cel.declarations import Overload, overload
from chartkit.engine.cel.errors import CelError, Stopped
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.values import KeyedMap, Uint, Value, lossless_int, same, type_of

_SIZE = "How many characters a text, bytes, members a list or entries a map has."
_MISSING = object()

UNHASHABLE_BYTES = "internal error: runtime error: hash of unhashable type types.Bytes"
"""Bytes are no key of a map that an expression makes, nor can they be looked for in one."""


def list_index(index: Value) -> int:
    """The index that a value stands for in a list; raises `CelError` for what is none."""
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
    found = entries.get(number, default)
    if number in (0, 1) and found is not default and not _has_number(entries, number):
        return default
    return found


def _has_number(entries: Mapping[object, Value], number: int) -> bool:
    return any(entry == number and entry.__class__ in (int, Uint) for entry in entries)


@overload(
    "index_list: _[_](list(A), int) -> A",
    "A member of a list by its place, the first is 0; the value of a map under a key.",
    "['a', 'b'][1]  // 'b'",
    "{'a': 1}['a']  // 1",
    "[1][1]  // error: index out of bounds: 1",
    "{'a': 1}['b']  // error: no such key: b",
)
def index_list(members: list[Value], index: Value) -> Value:
    place = list_index(index)
    if 0 <= place < len(members):
        return members[place]
    raise CelError(f"index out of bounds: {place}")


@overload("index_map: _[_](map(A, B), A) -> B", "The value of a map under a key.")
def index_map(entries: Mapping[object, Value], key: Value) -> Value:
    found = find_key(entries, key, _MISSING)
    if found is _MISSING:
        raise CelError(f"no such key: {show(key)}")
    return found


@overload(
    "in_list: @in(A, list(A)) -> bool",
    "Whether a value is a member of a list or a key of a map.",
    "2 in [1, 2, 3]  // true",
    "'b' in {'a': 1}  // false",
    cost=costs.of_membership,
)
def in_list(value: Value, members: list[Value]) -> bool:
    return any(same(value, member) for member in members)


@overload("in_map: @in(A, map(A, B)) -> bool", "Whether a value is a key of a map.")
def in_map(key: Value, entries: Mapping[object, Value]) -> bool:
    return find_key(entries, key, _MISSING) is not _MISSING


def _sizes(kind: str, name: str, value: str, size: int) -> tuple[Overload, Overload]:
    return (
        overload(f"size_{name}: size({kind}) -> int", _SIZE, f"size({value})  // {size}")(len),
        overload(f"{name}_size: {kind}.size() -> int", _SIZE, f"{value}.size()  // {size}")(len),
    )


OVERLOADS: tuple[Overload, ...] = (
    index_list,
    index_map,
    in_list,
    in_map,
    *_sizes("bytes", "bytes", "b'ü'", 2),
    *_sizes("list(A)", "list", "['a', 'b']", 2),
    *_sizes("map(A, B)", "map", "{'a': 1}", 1),
    *_sizes("string", "string", "'ü'", 1),
)
