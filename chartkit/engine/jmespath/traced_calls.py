"""Calls of functions over traced values: most make one value of all that they are given, a few
keep its members apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.calls import compile_call
from chartkit.engine.jmespath.compiler import compile_node
from chartkit.engine.jmespath.declaration import Search
from chartkit.engine.jmespath.nodes import Node
from chartkit.engine.jmespath.traced import Traced, listed, made, named, some, with_keys
from chartkit.model import Json


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call; node, apply: of an `&expression`, which takes each member."""

    traced: Traced
    node: Node | None = None
    apply: Callable[[Traced], Traced] | None = None

    def search(self) -> Search:
        """Return the argument as a call takes it."""
        if self.node is not None:
            return compile_node(self.node, False)
        value = self.traced.value
        return lambda _value, _budget: value


def call(name: Json, arguments: Sequence[Argument], budget: Budget) -> Traced:
    """Return the result of a call; raises `JMESPathError` as the call does."""
    value = compile_call(name, [one.search() for one in arguments])(None, budget)
    keep = _KEEPING.get(name) if isinstance(name, str) else None
    found = None if keep is None else keep(value, arguments)
    # A function that sees more than its members do is one like any other.
    if found is None or found.value != value:
        return made(value, *(source for one in arguments for source in _sources(one, arguments)))
    return found


def _sources(argument: Argument, arguments: Sequence[Argument]) -> list[Traced]:
    if argument.apply is None:
        return [argument.traced]
    lists = [one.traced for one in arguments if one.apply is None]
    return [argument.apply(member) for one in lists for member in one.members()]


def _length(value: Json, arguments: Sequence[Argument]) -> Traced:
    source = arguments[0].traced
    if source.parts is None:
        return made(value, source)
    parts = source.parts if isinstance(source.parts, Sequence) else source.parts.values()
    reads = (path for part in parts for path in (*part.reads, *part.fields()))
    return Traced(value, None, some((*reads, *source.reads)), source.lost)


def _keys(value: Json, arguments: Sequence[Argument]) -> Traced:
    source = arguments[0].traced
    parts = [Traced(name, member.path, member.reads) for name, member in source.items()]
    return Traced(value, None, (), source.lacking(), parts)


def _values(value: Json, arguments: Sequence[Argument]) -> Traced:
    source = arguments[0].traced
    return Traced(value, None, (), source.fields(), [member for _, member in source.items()])


def _items(value: Json, arguments: Sequence[Argument]) -> Traced | None:
    source = arguments[0].traced
    if not isinstance(source.value, dict):
        return None
    key, member_name = (one.traced.value for one in arguments[1:])
    parts = [
        named({key: Traced(name, member.path, member.reads), member_name: member})
        for name, member in sorted(source.items(), key=lambda pair: pair[0])
    ]
    return Traced(value, None, (), source.lacking(), parts)


def _map(_value: Json, arguments: Sequence[Argument]) -> Traced | None:
    apply, source = arguments[0].apply, arguments[1].traced
    if apply is None:
        return None
    return listed([apply(member) for member in source.members()], source.fields())


def _not_null(_value: Json, arguments: Sequence[Argument]) -> Traced | None:
    passed: list[Traced] = []
    for one in arguments:
        if one.traced.value is not None:
            return one.traced.chosen_by(path for each in passed for path in each.fields())
        passed.append(one.traced)
    return None


def _to_array(_value: Json, arguments: Sequence[Argument]) -> Traced:
    source = arguments[0].traced
    return source if isinstance(source.value, list) else listed([source])


def _merge(_value: Json, arguments: Sequence[Argument]) -> Traced:
    parts: dict[str, Traced] = {}
    for one in arguments:
        parts.update(one.traced.items())
    reads = (path for one in arguments for path in one.traced.fields())
    return Traced(_value, None, (), some(reads), parts)


def _lookup(_value: Json, arguments: Sequence[Argument]) -> Traced | None:
    where, key = (one.traced for one in arguments)
    if isinstance(where.value, dict) and isinstance(key.value, str):
        return where.member(key.value).chosen_by(key.fields())
    return None


def _contains(value: Json, arguments: Sequence[Argument]) -> Traced:
    """Return that a list holds a value, by the members that are it, or by the key that an object
    lacks."""
    where, what = (one.traced for one in arguments)
    members = [one for one in where.members() if one.value == what.value]
    if members:
        return made(value, *members, what)
    keys = [what.value] if isinstance(what.value, str) else []
    reads = (*with_keys(where.lost, keys), *where.fields(), *what.fields())
    return Traced(value, None, some(reads))


def _ordered(value: Json, arguments: Sequence[Argument]) -> Traced | None:
    """Return a list with its members in another order."""
    lists = [one.traced for one in arguments if isinstance(one.traced.value, list)]
    if len(lists) != 1 or not isinstance(value, list):
        return None
    remaining = lists[0].members()
    parts = []
    for member in value:
        chosen = next((one for one in remaining if one.value == member), None)
        if chosen is None:
            return None
        remaining.remove(chosen)
        parts.append(chosen)
    return Traced(value, lists[0].path, lists[0].reads, lists[0].lost, parts)


def _one_of(value: Json, arguments: Sequence[Argument]) -> Traced | None:
    """Return the member of a list that was chosen, for which all were read."""
    lists = [one.traced for one in arguments if isinstance(one.traced.value, list)]
    members = lists[0].members() if len(lists) == 1 else []
    chosen = next((one for one in members if one.value == value), None)
    return None if chosen is None else chosen.chosen_by(lists[0].fields())


_KEEPING: Final[dict[str, Callable[[Json, Sequence[Argument]], Traced | None]]] = {
    "contains": _contains,
    "items": _items,
    "keys": _keys,
    "length": _length,
    "lookup": _lookup,
    "map": _map,
    "max": _one_of,
    "max_by": _one_of,
    "merge": _merge,
    "min": _one_of,
    "min_by": _one_of,
    "not_null": _not_null,
    "reverse": _ordered,
    "sort": _ordered,
    "sort_by": _ordered,
    "to_array": _to_array,
    "values": _values,
}
"""Functions that keep members, by name; None: the call is one like any other."""
