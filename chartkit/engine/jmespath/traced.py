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
            member = None
        elif step.__class__ is str and isinstance(value, dict):
            member = value.get(step)
        elif step.__class__ is int and isinstance(value, list):
            member = value[step]
        else:
            return Traced(None, path, reads, lost)
        return Traced(member, None if path is None else (*path, step), reads, lost)

    def inside(self, steps: Sequence[str | int]) -> Traced:
        """The value at a path below this one, as `member` after `member` gives it."""
        inner = self
        for index, step in enumerate(steps):
            if inner.parts is None:
                return inner._plain(steps[index:])
            inner = inner._part(step)
        return inner

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
        part = None if parts is None else parts.get(str(step))
        return Traced(None, None, (self,)) if part is None else part

    def members(self) -> list[Traced]:
        """The members of a list; none for another value."""
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
        """The causes for which an object has no more keys."""
        return (self,) if self.path is None else (Traced(None, (*self.path, ANY_KEY)),)

    def chosen_by(self, *reads: Traced) -> Traced:
        """Return the same value, for which further values were read."""
        value, path, before, lost, parts = self
        return Traced(value, path, (*before, *reads), lost, parts)


def fields_of(sources: Iterable[Traced]) -> tuple[FieldPath, ...]:
    """Return the first fields of values, each once."""
    paths: dict[FieldPath, None] = {}
    seen: set[int] = set()
    for source in sources:
        _collect(source, paths, seen)
    return tuple(paths)[:MOST_FIELDS]


def _collect(source: Traced, paths: dict[FieldPath, None], seen: set[int]) -> None:
    if len(paths) >= MOST_FIELDS or id(source) in seen:
        return
    seen.add(id(source))
    value, path, reads, lost, parts = source
    is_whole = bool(reads) and isinstance(value, list | dict)
    if path and not is_whole:
        paths[path] = None
    before = len(paths)
    if parts is not None:
        for part in parts if isinstance(parts, list) else parts.values():
            _collect(part, paths, seen)
    for read in reads:
        _collect(read, paths, seen)
    # What chose an element tells more than the element as a whole.
    if path and is_whole and all(key[-1] == ANY_KEY for key in tuple(paths)[before:]):
        paths[path] = None
    for missing in lost:
        _collect(missing, paths, seen)


def with_keys(sources: Iterable[Traced], keys: Sequence[str]) -> Iterator[Traced]:
    """Yield the fields that objects lack, for paths that end with any key."""
    for source in sources:
        for path in source.fields():
            if path[-1:] == (ANY_KEY,):
                yield from (Traced(None, (*path[:-1], key)) for key in keys)


def made(value: Json, *sources: Traced) -> Traced:
    """A value that was made of others."""
    return Traced(value, None, sources)


def listed(parts: list[Traced], lost: Iterable[Traced] = ()) -> Traced:
    return Traced([part.value for part in parts], None, (), tuple(lost), parts)


def named(parts: Mapping[str, Traced]) -> Traced:
    return Traced({name: part.value for name, part in parts.items()}, parts=parts)
