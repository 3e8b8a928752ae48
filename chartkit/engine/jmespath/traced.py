"""Values that know from which fields of an object they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from chartkit.model import FieldPath, Json

ANY_KEY: Final = "\0"
"""Ends a path where an object lacks some key, whichever it is."""

MOST_FIELDS: Final = 32
"""The most fields that are reported for one failure."""


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
