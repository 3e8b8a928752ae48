"""Calls of functions over traced values: most make one value of all that they are given, a few
keep its members apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.calls import compile_call
from chartkit.engine.jmespath.compiler import compile_node
from chartkit.engine.jmespath.declaration import Search
from chartkit.engine.jmespath.nodes import Node
from chartkit.model import FieldPath, Json

ANY_KEY: Final = "\0"
"""Ends a path where an object lacks some key, whichever it is."""

MOST_FIELDS: Final = 32
"""The most fields that are told of one failure."""


class Traced(NamedTuple):
    """A value and the fields of the object that made it what it is.

    path: its place in the object, of a missing value the one that it would have; None where it is
    made; reads: what made or chose it; lost: that for which a list has no more members, or their
    number is no greater; parts: the members of a list or object that is made.
    """

    value: Json
    path: FieldPath | None = None
    reads: tuple[Traced, ...] = ()
    lost: tuple[Traced, ...] = ()
    parts: list[Traced] | Mapping[str, Traced] | None = None

    def member(self, step: str | int) -> Traced:
        """Return a member; null with the place that it would have where it is missing."""
        value, path, reads, lost, parts = self
        if parts is not None:
            return self._part(step)
        if value is None:
            found = None
        elif step.__class__ is str and isinstance(value, dict):
            found = value.get(step)
        elif step.__class__ is int and isinstance(value, list):
            found = value[step]
        else:
            return Traced(None, path, reads, lost)
        return Traced(found, None if path is None else (*path, step), reads, lost)

    def inside(self, steps: Sequence[str | int]) -> Traced:
        """Return what is at a path below the value, as `member` after `member` does."""
        found = self
        for index, step in enumerate(steps):
            if found.parts is None:
                return found._plain(steps[index:])
            found = found._part(step)
        return found

    def _plain(self, steps: Sequence[str | int]) -> Traced:
        value, path, reads, lost, _parts = self
        for index, step in enumerate(steps):
            if isinstance(value, dict) and step.__class__ is str:
                value = value.get(step)
            elif isinstance(value, list) and step.__class__ is int:
                value = value[step]
            elif value is not None:
                value, steps = None, steps[:index]
                break
        return Traced(value, None if path is None else (*path, *steps), reads, lost)

    def _part(self, step: str | int) -> Traced:
        parts = self.parts
        if isinstance(parts, list):
            return parts[step] if isinstance(step, int) else Traced(None, self.path, self.reads)
        found = None if parts is None else parts.get(str(step))
        return Traced(None, None, (self,)) if found is None else found

    def members(self) -> list[Traced]:
        """Return the members of a list; none for another value."""
        value, parts = self.value, self.parts
        if not isinstance(value, list):
            return []
        if isinstance(parts, list):
            return parts
        return [self.member(index) for index in range(len(value))]

    def items(self) -> Iterator[tuple[str, Traced]]:
        """Yield the names and values of an object; nothing for another value."""
        if isinstance(self.value, dict):
            for name in self.value:
                yield name, self.member(name)

    def fields(self) -> tuple[FieldPath, ...]:
        """Return the fields, the most telling first."""
        _value, path, reads, lost, parts = self
        if parts is None and not reads and not lost:
            return (path,) if path else ()
        return fields_of((self,))

    def lacking(self) -> tuple[Traced, ...]:
        """Return that for which an object has no more keys."""
        return (self,) if self.path is None else (Traced(None, (*self.path, ANY_KEY)),)

    def chosen_by(self, *reads: Traced) -> Traced:
        """Return the same value, for which further values were read."""
        value, path, before, lost, parts = self
        return Traced(value, path, (*before, *reads), lost, parts)


def fields_of(sources: Iterable[Traced]) -> tuple[FieldPath, ...]:
    """Return the first fields of values, each once."""
    found: dict[FieldPath, None] = {}
    seen: set[int] = set()
    for source in sources:
        _collect(source, found, seen)
    return tuple(found)[:MOST_FIELDS]


def _collect(source: Traced, found: dict[FieldPath, None], seen: set[int]) -> None:
    if len(found) >= MOST_FIELDS or id(source) in seen:
        return
    seen.add(id(source))
    value, path, reads, lost, parts = source
    is_whole = bool(reads) and isinstance(value, list | dict)
    if path and not is_whole:
        found[path] = None
    before = len(found)
    if parts is not None:
        for part in parts if isinstance(parts, list) else parts.values():
            _collect(part, found, seen)
    for each in reads:
        _collect(each, found, seen)
    # What chose an element tells more than the element as a whole.
    if path and is_whole and len(found) == before:
        found[path] = None
    for each in lost:
        _collect(each, found, seen)


def with_keys(sources: Iterable[Traced], keys: Sequence[str]) -> Iterator[Traced]:
    """Yield the fields that objects lack, for paths that end with any key."""
    for source in sources:
        for path in source.fields():
            if path[-1:] == (ANY_KEY,):
                yield from (Traced(None, (*path[:-1], key)) for key in keys)


def made(value: Json, *sources: Traced) -> Traced:
    """Return a value that was made of others."""
    return Traced(value, None, sources)


def listed(parts: list[Traced], lost: Iterable[Traced] = ()) -> Traced:
    """Return a list of values."""
    return Traced([part.value for part in parts], None, (), tuple(lost), parts)


def named(parts: Mapping[str, Traced]) -> Traced:
    """Return an object of values."""
    return Traced({name: part.value for name, part in parts.items()}, parts=parts)


Trace = Callable[[Traced, Budget], Traced]
"""A compiled expression that tells where its result comes from."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call; reference: the node of an `&expression`, which takes each member."""

    trace: Trace
    reference: Node | None = None


_Keep = Callable[[Json, Sequence[Traced]], Traced | None]


def compile_traced_call(name: Json, arguments: Sequence[Argument]) -> Trace:
    """Return a call as a closure; it raises `JMESPathError` as the call does."""
    run = compile_call(name, [_search(index, one) for index, one in enumerate(arguments)])
    if any(one.reference is not None for one in arguments):
        return _over_members(name, run, arguments)
    keep = _KEEPING.get(name) if isinstance(name, str) else None
    traces = [one.trace for one in arguments]

    def call(here: Traced, budget: Budget) -> Traced:
        given = [trace(here, budget) for trace in traces]
        value = run(given, budget)
        found = None if keep is None else keep(value, given)
        return made(value, *given) if found is None else found

    return call


def _search(index: int, argument: Argument) -> Search:
    if argument.reference is not None:
        return compile_node(argument.reference, False)
    return lambda given, _budget: given[index].value


def _over_members(name: Json, run: Search, arguments: Sequence[Argument]) -> Trace:
    def call(here: Traced, budget: Budget) -> Traced:
        given = [Traced(None) if one.reference else one.trace(here, budget) for one in arguments]
        value = run(given, budget)
        lists = [one for one in given if isinstance(one.value, list)]
        if len(lists) != 1:
            return made(value, *given)
        members = lists[0].members()
        apply = next(one.trace for one in arguments if one.reference is not None)
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
