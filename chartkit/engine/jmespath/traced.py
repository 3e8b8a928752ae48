"""Values that know from which fields of an object they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from chartkit.model import Json

Path = tuple[str | int, ...]
"""The keys and indices that lead to a field of the object."""

ANY_KEY: Final = "\0"
"""Ends a path where an object lacks some key, whichever it is."""

MOST_FIELDS: Final = 32
"""The most fields that one value remembers of each kind."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A value and the fields of the object that made it what it is.

    path: its place in the object, of a missing value the one that it would have; None where it is
    made; reads: the fields that made or chose it; lost: those for which a list has no more
    members, or their number is no greater; parts: the members of a list or object that is made.
    """

    value: Json
    path: Path | None = None
    reads: tuple[Path, ...] = ()
    lost: tuple[Path, ...] = ()
    parts: Sequence[Traced] | Mapping[str, Traced] | None = None

    def member(self, step: str | int) -> Traced:
        """Return a member; null with the place that it would have where it is missing."""
        if isinstance(self.parts, Mapping):
            return self.parts.get(str(step)) or Traced(None, None, self.fields())
        value, path = self.value, self.path
        if isinstance(value, dict) and isinstance(step, str):
            found = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            if self.parts is not None:
                return self.parts[step]
            found = value[step]
        elif value is None:
            found = None
        else:
            return Traced(None, path, self.reads, self.lost)
        return Traced(found, None if path is None else (*path, step), self.reads, self.lost)

    def members(self) -> list[Traced]:
        """Return the members of a list; none for another value."""
        if not isinstance(self.value, list):
            return []
        if isinstance(self.parts, Sequence):
            return list(self.parts)
        return [self.member(index) for index in range(len(self.value))]

    def items(self) -> Iterator[tuple[str, Traced]]:
        """Yield the names and values of an object; nothing for another value."""
        if isinstance(self.value, dict):
            for name in self.value:
                yield name, self.member(name)

    def fields(self, *, lacks: bool = False) -> tuple[Path, ...]:
        """Return the fields, the most telling first; lacks: what is missing of it tells more."""
        return some(self._fields(lacks))

    def _fields(self, lacks: bool) -> Iterator[Path]:
        if lacks:
            yield from self.lost
        # What chose an element tells more than the element as a whole.
        is_chosen = bool(self.reads) and isinstance(self.value, list | dict)
        if self.path and not is_chosen:
            yield self.path
        parts = self.parts.values() if isinstance(self.parts, Mapping) else self.parts
        for part in parts or ():
            yield from part.fields()
        yield from self.reads
        if not lacks:
            yield from self.lost

    def lacking(self) -> tuple[Path, ...]:
        """Return the fields for which an object has no more keys."""
        return self.fields() if self.path is None else ((*self.path, ANY_KEY),)

    def chosen_by(self, reads: Iterable[Path]) -> Traced:
        """Return the same value, for which further fields were read."""
        joined = some((*self.reads, *reads))
        return Traced(self.value, self.path, joined, self.lost, self.parts)


def with_keys(paths: Iterable[Path], keys: Sequence[str]) -> Iterator[Path]:
    """Yield the fields that objects lack, for paths that end with any key."""
    for path in paths:
        if path[-1:] == (ANY_KEY,):
            yield from ((*path[:-1], key) for key in keys)


def some(fields: Iterable[Path]) -> tuple[Path, ...]:
    """Return the first fields, each once."""
    return tuple(islice(dict.fromkeys(fields), MOST_FIELDS))


def made(value: Json, *sources: Traced) -> Traced:
    """Return a value that was made of others."""
    return Traced(value, None, some(path for source in sources for path in source.fields()))


def listed(parts: Sequence[Traced], lost: Iterable[Path] = ()) -> Traced:
    """Return a list of values."""
    return Traced([part.value for part in parts], None, (), some(lost), parts)


def named(parts: Mapping[str, Traced]) -> Traced:
    """Return an object of values."""
    return Traced({name: part.value for name, part in parts.items()}, parts=parts)
