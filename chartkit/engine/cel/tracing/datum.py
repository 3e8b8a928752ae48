"""Values with their provenance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.frame import Frame
from chartkit.engine.cel.values import Value
from chartkit.model import FieldPath

UNKNOWN: Final = object()
"""The value of what may not be asked again."""


class Read(NamedTuple):
    """A value of the object that was read; presence: it was only asked for, and is there."""

    path: FieldPath
    presence: bool = False


class Guard(NamedTuple):
    """Causes that led to the others, such as those of a condition: named after them."""

    causes: Causes


class Each(NamedTuple):
    """The results of a condition, and the elements that it was asked of: an element stands for a
    result that no field decided."""

    results: Sequence[Datum]
    elements: Sequence[Datum]


class Absence(NamedTuple):
    """The causes of a list without an element for which a condition is true: what may have more
    elements (`Extent.lacking`), then what these have instead."""

    lacking: Causes
    others: Causes


class Whole(NamedTuple):
    """The causes of a list or map as a whole: why it has its members, or these themselves."""

    members: Sequence[Datum]
    extent: Extent


Causes: TypeAlias = "Datum | Read | Guard | Each | Absence | Whole | tuple[Causes, ...]"
"""A tree of what decided, in the order of its weight; parts of it may be shared."""

NO_CAUSES: Final[tuple[Causes, ...]] = ()


class Extent(NamedTuple):
    """The causes of a list's length; held: that it has its elements; lacking: that it has no
    others."""

    held: Causes = NO_CAUSES
    lacking: Causes = NO_CAUSES


class Entries(Protocol):
    """The values of a map, with their provenance."""

    def get(self, key: str, /) -> Datum | None:
        """Return the value under a key; None if it has no provenance of its own."""
        ...


class Datum(NamedTuple):
    """A value and its provenance; as a cause, the reads of it.

    path: where it stands, or would stand, in the object; None if an expression made it. causes:
    what decided that it is this value. members: those of a list or map that an expression made;
    extent: of such a list.
    """

    value: Value
    path: FieldPath | None = None
    causes: Causes = NO_CAUSES
    members: Sequence[Datum] | Entries | None = None
    extent: Extent | None = None

    @property
    def is_constant(self) -> bool:
        """Return true if nothing of the object decided the value."""
        return self.path is None and not self.causes and not self.members


class TraceError(CelError):
    """A part of an expression has no value; causes: the reads that it failed over."""

    def __init__(self, message: str, causes: Causes) -> None:
        super().__init__(message)
        self.causes = causes


class TraceFrame(Frame):
    """The state of a trace; roots: the variables; locals: those of macros."""

    __slots__ = ("locals", "roots")

    def __init__(self, roots: Entries, host: Host, limit: int, slots: int) -> None:
        super().__init__({}, host, limit, 0)
        self.roots = roots
        self.locals: list[Datum] = [NOTHING] * slots


Step: TypeAlias = Callable[[TraceFrame], Datum]
"""A part of an expression, ready to be traced; raises `TraceError` if it has no value."""

NOTHING: Final = Datum(None)


def unknown(*causes: Causes) -> Datum:
    """Return a value that nobody knows."""
    return Datum(UNKNOWN, None, causes)


def because(datum: Datum, causes: Causes) -> Datum:
    """Return a value that a condition led to."""
    value, path, own, members, extent = datum
    more = Guard(causes)
    return Datum(value, path, (own, more) if own else more, members, extent)


def extent_of(datum: Datum) -> Extent:
    """Return the causes of a list's length."""
    if datum.extent is not None:
        return datum.extent
    return Extent(lacking=datum if datum.path is None else Read(datum.path))


def together(*extents: Extent) -> Extent:
    """Return the extent of a list that is made of several."""
    held = tuple([extent.held for extent in extents if extent.held])
    lacking = tuple([extent.lacking for extent in extents if extent.lacking])
    return Extent(held, lacking)


def listed(members: Sequence[Datum], extent: Extent) -> Datum:
    """Return a list that an expression made of values with a provenance."""
    values = [member[0] for member in members]
    known = all(value is not UNKNOWN for value in values)
    return Datum(values if known else UNKNOWN, None, Whole(members, extent), members, extent)
