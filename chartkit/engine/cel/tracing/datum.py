"""Values with their provenance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.attributes import MISSING, find
from chartkit.engine.cel.interpreter.frame import Frame
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.library.standard.containers import list_index
from chartkit.engine.cel.tracing.causes import NO_CAUSES, Causes, Guard, Path, Read, guard, join
from chartkit.engine.cel.values import NONE, OptionalValue, Struct, Value

UNKNOWN: Final = object()
"""The value of what may not be asked again."""


class Entries(Protocol):
    """The values of a map, with their provenance."""

    def get(self, key: str, /) -> Datum | None:
        """Return the value under a key; None if it has no provenance of its own."""
        ...


class Extent(NamedTuple):
    """The causes of a list's length; held: that it has its elements; lacking: that it has no
    others."""

    held: Causes = NO_CAUSES
    lacking: Causes = NO_CAUSES


class Datum(NamedTuple):
    """A value and its provenance.

    path: where it stands, or would stand, in the object; None if an expression made it. causes:
    what decided that it is this value. members: those of a list or map that an expression made;
    extent: of such a list.
    """

    value: Value
    path: Path | None = None
    causes: Causes = NO_CAUSES
    members: Sequence[Datum] | Entries | None = None
    extent: Extent | None = None


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


def reads(datum: Datum) -> Causes:
    """Return the causes of what is made of a value as a whole."""
    return reads_of(datum.path, datum.causes)


def reads_of(path: Path | None, causes: Causes) -> Causes:
    """Return the causes of what is made of the value at a path, if there is one."""
    if path is None:
        # Conditions alone decided.
        return causes.causes if isinstance(causes, Guard) else causes
    return Read(path) if not causes else (Read(path), causes)


def extent_of(datum: Datum) -> Extent:
    """Return the causes of a list's length."""
    if datum.extent is not None:
        return datum.extent
    return Extent(lacking=reads(datum) if datum.path is None else Read(datum.path))


def unknown(causes: Causes) -> Datum:
    """Return a value that nobody knows."""
    return Datum(UNKNOWN, None, causes)


def child(
    datum: Datum, key: Value, rest: Path = (), *, optional: bool = False, why: Causes = NO_CAUSES
) -> Datum:
    """Return the member under a key or index; an optional one of an optional value.

    rest: the constant keys that are selected next, so that the error of a missing value knows its
    whole path; why: the causes of the key. Raises `TraceError` if there is no such member.
    """
    value, path, causes, members, extent = datum
    if value.__class__ is OptionalValue:
        optional = True
        if not value.present:
            return Datum(NONE, path if path is None else (*path, *_steps(key)), causes)
        value = value.value
    found = None if members is None else _member(members, key)
    if found is None:
        if value is UNKNOWN:
            return unknown(join((reads_of(path, causes), why)))
        found = _selected(Datum(value, path, causes), key, rest, optional)
    elif extent is not None:
        why = join((why, extent.lacking))
    if why:
        found = found._replace(causes=join((found.causes, guard(why))))
    if not optional or found.value is UNKNOWN or found.value.__class__ is OptionalValue:
        return found
    return found._replace(value=OptionalValue(True, found.value))


def _member(members: Sequence[Datum] | Entries, key: Value) -> Datum | None:
    """Return a member of what an expression made; None if it has no provenance of its own."""
    if not isinstance(members, Sequence):
        return members.get(key) if isinstance(key, str) else None
    if isinstance(key, int) and key.__class__ is int and 0 <= key < len(members):
        found: Datum = members[key]
        return found
    return None


def _selected(datum: Datum, key: Value, rest: Path, optional: bool) -> Datum:
    """Return a member of a value that is known."""
    value, path, causes, _, _ = datum
    try:
        steps = (list_index(key),) if value.__class__ is list else _steps(key)
        found = find(value, key)
    except CelError as error:
        raise TraceError(error.message, reads(datum)) from None
    place = None if path is None or not steps else (*path, *steps)
    if place is None or not isinstance(value, dict | list):
        place, causes = None, reads(datum)
    if found is not MISSING:
        return Datum(found, place, causes)
    if optional:
        return Datum(NONE, place, causes)
    if isinstance(value, Struct) and isinstance(key, str) and key in value.unset:
        return Datum(value.unset[key], None, causes)
    if value.__class__ is list:
        raise TraceError(f"index out of bounds: {show(key)}", reads(datum))
    missing = place if place is None else (*place, *rest)
    raise TraceError(f"no such key: {show(key)}", reads_of(missing, causes))


def _steps(key: Value) -> Path:
    """Return the step that a key stands for in a JSON object; none for what is no text."""
    return (key,) if isinstance(key, str) else ()


def elements(datum: Datum) -> Sequence[Datum]:
    """Return the elements of a list with their provenance."""
    value, path, causes, members, _ = datum
    if isinstance(members, Sequence):
        return members
    assert isinstance(value, list)
    if path is None:
        return [Datum(each, None, causes) for each in value]
    return [Datum(each, (*path, at), causes) for at, each in enumerate(value)]


def entries(datum: Datum) -> list[tuple[Datum, Datum]]:
    """Return the keys and values of a map with their provenance."""
    value, path, causes, members, _ = datum
    assert isinstance(value, dict)
    found = []
    for key in value:
        own = members.get(key) if isinstance(key, str) and members is not None else None  # type: ignore[union-attr]
        place = (*path, key) if path is not None and isinstance(key, str) else None
        each = Datum(value[key], place, causes) if own is None else own
        found.append((Datum(key, place, causes), each))
    return found
