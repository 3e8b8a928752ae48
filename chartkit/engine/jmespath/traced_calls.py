"""Calls of functions over traced values: most make one value of all that they are given, a few
keep its members apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.compiler import compile_call, compile_node
from chartkit.engine.jmespath.declaration import Search
from chartkit.engine.jmespath.nodes import Node
from chartkit.engine.jmespath.traced import Traced, listed, made, named, with_keys
from chartkit.model import Json

Trace = Callable[[Traced, Budget], Traced]
"""A compiled expression that tells where its result comes from."""


Argument = tuple[Trace, Node | None]
"""An argument of a call; with its node an `&expression`, which takes each member."""

_UNREAD: Final = Traced(None)
_Keep = Callable[[Json, Sequence[Traced]], Traced | None]


def compile_traced_call(name: Json, arguments: Sequence[Argument]) -> Trace:
    """Return a call as a closure; it raises `JMESPathError` as the call does."""
    run = compile_call(name, [_search(index, node) for index, (_, node) in enumerate(arguments)])
    applied = [trace for trace, node in arguments if node is not None]
    if applied:
        return _over_members(name, run, arguments, applied[0])
    traces = [trace for trace, _ in arguments]
    keep = _KEEPING.get(name) if isinstance(name, str) else None

    def call(here: Traced, budget: Budget) -> Traced:
        given = [trace(here, budget) for trace in traces]
        value = run(given, budget)
        found = None if keep is None else keep(value, given)
        return made(value, *given) if found is None else found

    return call


def _search(index: int, reference: Node | None) -> Search:
    if reference is not None:
        return compile_node(reference, False)
    return lambda given, _budget: given[index].value


def _over_members(name: Json, run: Search, arguments: Sequence[Argument], apply: Trace) -> Trace:
    def call(here: Traced, budget: Budget) -> Traced:
        given = [trace(here, budget) if node is None else _UNREAD for trace, node in arguments]
        value = run(given, budget)
        lists = [one for one in given if isinstance(one.value, list)]
        if len(lists) != 1:
            return made(value, *given)
        members = lists[0].members()
        seen = [apply(member, budget) for member in members]
        if name == "map":
            return listed(seen, lists)
        if isinstance(value, list):
            return _ordered(value, lists) or made(value, *seen)
        chosen = [one for one in members if one.value == value]
        return chosen[0].chosen_by(*seen) if chosen else made(value, *seen, *given)

    return call


def _length(value: Json, given: Sequence[Traced]) -> Traced:
    (source,) = given
    if not isinstance(source.parts, list):
        return made(value, source)
    reads = [one for part in source.parts for one in (*part.reads, part)]
    return Traced(value, None, (*reads, *source.reads), source.lost)


def _keys(value: Json, given: Sequence[Traced]) -> Traced:
    (source,) = given
    parts = [Traced(name, member.path, member.reads) for name, member in source.items()]
    return Traced(value, None, (), source.lacking(), parts)


def _values(value: Json, given: Sequence[Traced]) -> Traced:
    (source,) = given
    return Traced(value, None, (), (source,), [member for _, member in source.items()])


def _items(value: Json, given: Sequence[Traced]) -> Traced | None:
    source, key, held = given
    if not isinstance(source.value, dict):
        return None
    parts = [
        named({key.value: Traced(name, member.path, member.reads), held.value: member})
        for name, member in sorted(source.items(), key=lambda pair: pair[0])
    ]
    return Traced(value, None, (), source.lacking(), parts)


def _not_null(_value: Json, given: Sequence[Traced]) -> Traced | None:
    for index, one in enumerate(given):
        if one.value is not None:
            return one.chosen_by(*given[:index])
    return None


def _to_array(_value: Json, given: Sequence[Traced]) -> Traced:
    (source,) = given
    return source if isinstance(source.value, list) else listed([source])


def _merge(value: Json, given: Sequence[Traced]) -> Traced:
    parts = {name: member for one in given for name, member in one.items()}
    return Traced(value, None, (), tuple(given), parts)


def _lookup(_value: Json, given: Sequence[Traced]) -> Traced | None:
    where, key = given
    if isinstance(where.value, dict) and isinstance(key.value, str):
        return where.member(key.value).chosen_by(key)
    return None


def _contains(value: Json, given: Sequence[Traced]) -> Traced:
    """Return that a list holds a value, by the members that are it, or by the key that an object
    lacks."""
    where, what = given
    members = [one for one in where.members() if one.value == what.value]
    if members:
        return made(value, *members, what)
    keys = [what.value] if isinstance(what.value, str) else []
    return made(value, *with_keys(where.lost, keys), where, what)


def _ordered(value: Json, given: Sequence[Traced]) -> Traced | None:
    """Return a list with its members in another order."""
    if len(given) != 1 or not isinstance(value, list):
        return None
    source = given[0]
    remaining = list(source.members())
    parts = []
    for member in value:
        chosen = next((one for one in remaining if one.value == member), None)
        if chosen is None:
            return None
        remaining.remove(chosen)
        parts.append(chosen)
    return Traced(value, source.path, source.reads, source.lost, parts)


def _one_of(value: Json, given: Sequence[Traced]) -> Traced | None:
    """Return the member of a list that was chosen, for which all were read."""
    (source,) = given
    chosen = next((one for one in source.members() if one.value == value), None)
    return None if chosen is None else chosen.chosen_by(source)


_KEEPING: Final[dict[str, _Keep]] = {
    "contains": _contains,
    "items": _items,
    "keys": _keys,
    "length": _length,
    "lookup": _lookup,
    "max": _one_of,
    "merge": _merge,
    "min": _one_of,
    "not_null": _not_null,
    "reverse": _ordered,
    "sort": _ordered,
    "to_array": _to_array,
    "values": _values,
}
"""Functions that keep members, by name; None: the call is one like any other."""
