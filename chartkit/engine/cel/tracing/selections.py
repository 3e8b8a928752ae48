"""Members of values: fields, elements and entries, which have the path of what they are part of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter.attributes import MISSING, find
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.library.standard.containers import list_index
from chartkit.engine.cel.tracing.datum import (
    NO_CAUSES,
    UNKNOWN,
    Causes,
    Datum,
    Entries,
    Read,
    Step,
    TraceError,
    TraceFrame,
    because,
    unknown,
)
from chartkit.engine.cel.values import NONE, OptionalValue, Struct, Value
from chartkit.model import FieldPath

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
            found = members.get(keys[0][0])
            if found is not None:
                return found if default is None else or_constant(found, default)
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
        found = child(base(frame), field, optional=True)
        if found.value is UNKNOWN:
            return found
        there = bool(found.value.present)  # type: ignore[attr-defined]
        if found.path is None:
            return Datum(there, None, found.causes)
        read = Datum(there, None, Read(found.path, presence=there))
        return because(read, found.causes) if found.causes else read

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
    found = None if members is None else _member(members, key)
    if found is None:
        if value is UNKNOWN:
            return unknown(datum, why)
        found = _selected(Datum(value, path, causes), key, rest, optional)
    elif extent is not None and extent.lacking:
        why = (why, extent.lacking)
    if why:
        found = because(found, why)
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


def _selected(datum: Datum, key: Value, rest: FieldPath, optional: bool) -> Datum:
    """Return a member of a value that is known."""
    value, path, causes, _, _ = datum
    try:
        steps = (list_index(key),) if value.__class__ is list else _steps(key)
        found = find(value, key)
    except CelError as error:
        raise TraceError(error.message, datum) from None
    place = None if path is None or not steps else (*path, *steps)
    if place is None or not isinstance(value, dict | list):
        place, causes = None, datum
    if found is not MISSING:
        return Datum(found, place, causes)
    if optional:
        return Datum(NONE, place, causes)
    if isinstance(value, Struct) and isinstance(key, str) and key in value.unset:
        return Datum(value.unset[key], None, causes)
    if value.__class__ is list:
        raise TraceError(f"index out of bounds: {show(key)}", datum)
    missing = place if place is None else (*place, *rest)
    raise TraceError(f"no such key: {show(key)}", Datum(None, missing, causes))


def _steps(key: Value) -> FieldPath:
    """Return the step that a key stands for in a JSON object; none for what is no text."""
    return (key,) if isinstance(key, str) else ()


def is_list(datum: Datum) -> bool:
    """Return whether a value is a list, perhaps with elements that nobody knows."""
    return datum.value.__class__ is list or isinstance(datum.members, Sequence)


def elements(datum: Datum) -> Sequence[Datum]:
    """Return the elements of a list with their provenance."""
    value, path, causes, members, _ = datum
    if isinstance(members, Sequence):
        return members
    assert isinstance(value, list)
    if path is None:
        return [_new(Datum, (each, None, causes, None, None)) for each in value]
    return [_new(Datum, (each, (*path, at), causes, None, None)) for at, each in enumerate(value)]


def keys(datum: Datum) -> list[Datum]:
    """Return the keys of a map with the provenance of its values, which are not computed."""
    value, path, causes, _, _ = datum
    assert isinstance(value, dict)
    return [Datum(key, None if path is None else (*path, *_steps(key)), causes) for key in value]


def entries(datum: Datum) -> list[tuple[Datum, Datum]]:
    """Return the keys and values of a map with their provenance."""
    value, path, causes, members, _ = datum
    assert isinstance(value, dict)
    known = None if isinstance(members, Sequence) else members
    found = []
    for key in value:
        own = known.get(key) if isinstance(key, str) and known is not None else None
        place = (*path, key) if path is not None and isinstance(key, str) else None
        each = Datum(value[key], place, causes) if own is None else own
        found.append((Datum(key, place, causes), each))
    return found
