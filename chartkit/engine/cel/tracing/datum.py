"""Values with their provenance, and their members, which have the path of what they are part of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.attributes import MISSING, find
from chartkit.engine.cel.interpreter.frame import Frame
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.library.standard.containers import list_index
from chartkit.engine.cel.values import NONE, OptionalValue, Struct, Value
from chartkit.model import FieldPath

UNKNOWN: Final = object()
"""The value of what may not be asked again."""


class Read(NamedTuple):
    """A value of the object that was read; presence: it was only asked for, and is there."""

    path: FieldPath
    presence: bool = False


class Guard(NamedTuple):
    """Causes that led to the others, such as a condition's: named after them."""

    causes: Causes


class Each(NamedTuple):
    """The results of a condition, and the elements that it was asked of: an element takes the place
    of a result that no field decided."""

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
        """The value under a key; None if it has no provenance of its own."""


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
        """Report whether the value does not depend on the object."""
        return self.path is None and not self.causes and not self.members


class TraceError(CelError):
    """A part of an expression has no value; causes: the reads that it failed over."""

    def __init__(self, message: str, causes: Causes) -> None:
        super().__init__(message)
        self.causes = causes


class TraceFrame(Frame):
    """The state of a trace; roots: the variables; locals: the variables of macros."""

    __slots__ = ("locals", "roots")

    def __init__(self, roots: Entries, host: Host, limit: int, slots: int) -> None:
        super().__init__({}, host, limit, 0)
        self.roots = roots
        self.locals: list[Datum] = [NOTHING] * slots


Step: TypeAlias = Callable[[TraceFrame], Datum]
"""A part of an expression, ready to be traced; raises `TraceError` if it has no value."""

NOTHING: Final = Datum(None)


def unknown(*causes: Causes) -> Datum:
    """An unknown value with its causes."""
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
    certain = all(value is not UNKNOWN for value in values)
    return Datum(values if certain else UNKNOWN, None, Whole(members, extent), members, extent)


_new: Final = tuple.__new__
"""Makes a `Datum` in half the time, where many are made."""

Key: TypeAlias = tuple[str, bool]
"""A constant key, and whether the selection is optional."""


def chain(base: Step, keys: Sequence[Key], path: FieldPath, default: Datum | None = None) -> Step:
    """Return the step of several selections with constant keys: `base.a.?b`.

    path: the keys, and those that are selected next; default: a constant, which an `orValue` at
    the end gives for what is absent.
    """
    own = path[: len(keys)]
    walked = [(key, is_optional) for key, is_optional in keys]

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        datum = base(frame)
        value, start, causes, members, _ = datum
        if start is None or members is not None:
            return one_by_one(datum)
        optional = False
        for key, is_optional in walked:
            if value.__class__ is not dict:
                return one_by_one(datum)
            optional = optional or is_optional
            value = value.get(key, MISSING)
            if value is MISSING:
                if not optional:
                    raise TraceError(f"no such key: {key}", Datum(None, start + path, causes))
                value = NONE if default is None else default[0]
                return _new(Datum, (value, start + own, causes, None, None))
        if optional and default is None:
            value = OptionalValue(True, value)
        return _new(Datum, (value, start + own, causes, None, None))

    def one_by_one(datum: Datum) -> Datum:
        members = datum.members
        if isinstance(members, Sequence) or datum.value.__class__ is OptionalValue:
            members = None
        if len(keys) == 1 and members is not None and not keys[0][1]:
            member = members.get(keys[0][0])
            if member is not None:
                return member if default is None else or_constant(member, default)
        for at, (key, optional) in enumerate(keys, 1):
            datum = child(datum, key, path[at:], optional=optional)
        return datum if default is None else or_constant(datum, default)

    return run


def or_constant(optional: Datum, default: Datum) -> Datum:
    """Return the value of an optional, or a constant with its provenance."""
    value, path, causes, members, extent = optional
    if value.__class__ is not OptionalValue:
        return optional
    if value.present:
        return Datum(value.value, path, causes, members, extent)
    return Datum(default.value, path, causes)


def presence(base: Step, field: str) -> Step:
    """Return the step of `has(base.field)`."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        member = child(base(frame), field, optional=True)
        if member.value is UNKNOWN:
            return member
        there = bool(member.value.present)  # type: ignore[attr-defined]
        if member.path is None:
            return Datum(there, None, member.causes)
        read = Datum(there, None, Read(member.path, presence=there))
        return because(read, member.causes) if member.causes else read

    return run


def child(
    datum: Datum,
    key: Value,
    rest: FieldPath = (),
    *,
    optional: bool = False,
    why: Causes = NO_CAUSES,
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
    member = None if members is None else _member(members, key)
    if member is None:
        if value is UNKNOWN:
            return unknown(datum, why)
        member = _selected(Datum(value, path, causes), key, rest, optional)
    elif extent is not None and extent.lacking:
        why = (why, extent.lacking)
    if why:
        member = because(member, why)
    if not optional or member.value is UNKNOWN or member.value.__class__ is OptionalValue:
        return member
    return member._replace(value=OptionalValue(True, member.value))


def _member(members: Sequence[Datum] | Entries, key: Value) -> Datum | None:
    """A member of a list or map that an expression made; None without its own provenance."""
    if not isinstance(members, Sequence):
        return members.get(key) if isinstance(key, str) else None
    if isinstance(key, int) and key.__class__ is int and 0 <= key < len(members):
        member: Datum = members[key]
        return member
    return None


def _selected(datum: Datum, key: Value, rest: FieldPath, optional: bool) -> Datum:
    """A member of a known value."""
    value, path, causes, _, _ = datum
    try:
        steps = (list_index(key),) if value.__class__ is list else _steps(key)
        member = find(value, key)
    except CelError as error:
        raise TraceError(error.message, datum) from None
    inner = None if path is None or not steps else (*path, *steps)
    if inner is None or not isinstance(value, dict | list):
        inner, causes = None, datum
    if member is not MISSING:
        return Datum(member, inner, causes)
    if optional:
        return Datum(NONE, inner, causes)
    if isinstance(value, Struct) and isinstance(key, str) and key in value.unset:
        return Datum(value.unset[key], None, causes)
    if value.__class__ is list:
        raise TraceError(f"index out of bounds: {show(key)}", datum)
    missing = inner if inner is None else (*inner, *rest)
    raise TraceError(f"no such key: {show(key)}", Datum(None, missing, causes))


def _steps(key: Value) -> FieldPath:
    """The step of a key in a JSON object; none for a key that is not a string."""
    return (key,) if isinstance(key, str) else ()


def is_list(datum: Datum) -> bool:
    """Report whether a value is a list, perhaps with unknown elements."""
    return datum.value.__class__ is list or isinstance(datum.members, Sequence)


def elements(datum: Datum) -> Sequence[Datum]:
    """Return the elements of a list with their provenance."""
    value, path, causes, members, _ = datum
    if isinstance(members, Sequence):
        return members
    assert isinstance(value, list)
    if path is None:
        return [_new(Datum, (item, None, causes, None, None)) for item in value]
    return [_new(Datum, (item, (*path, at), causes, None, None)) for at, item in enumerate(value)]


def keys(datum: Datum) -> list[Datum]:
    """Return the keys of a map with the provenance of its values, which are not computed."""
    value, path, causes, _, _ = datum
    assert isinstance(value, dict)
    return [Datum(key, None if path is None else (*path, *_steps(key)), causes) for key in value]


def entries(datum: Datum) -> list[tuple[Datum, Datum]]:
    """Return the keys and values of a map with their provenance."""
    value, path, causes, members, _ = datum
    assert isinstance(value, dict)
    provenance = None if isinstance(members, Sequence) else members
    pairs = []
    for key in value:
        own = provenance.get(key) if isinstance(key, str) and provenance is not None else None
        inner = (*path, key) if path is not None and isinstance(key, str) else None
        member = Datum(value[key], inner, causes) if own is None else own
        pairs.append((Datum(key, inner, causes), member))
    return pairs
