"""Literals of lists, maps and objects."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cel.interpreter.aggregates import keyed
from chartkit.engine.cel.tracing.datum import (
    UNKNOWN,
    Causes,
    Datum,
    Extent,
    Step,
    TraceError,
    TraceFrame,
    listed,
    unknown,
)
from chartkit.engine.cel.values import KeyedMap, OptionalValue, Value


def list_of_steps(elements: Sequence[Step], optional: frozenset[int]) -> Step:
    """`[a, ?b]`."""

    def run(frame: TraceFrame) -> Datum:
        members: list[Datum] = []
        causes: list[Causes] = []
        for index, element in enumerate(elements):
            found = element(frame)
            if index in optional:
                causes.append(found)
                present = _opened(found)
                if present is None:
                    continue
                found = present
            members.append(found)
        return listed(members, Extent(lacking=tuple(causes)))

    return run


def map_of_steps(entries: Sequence[tuple[Step, Step, bool]]) -> Step:
    """`{a: b, ?c: d}`."""

    def run(frame: TraceFrame) -> Datum:
        values: dict[Value, Value] = {}
        members: dict[str, Datum] = {}
        causes: list[Causes] = []
        for key_step, value_step, optional in entries:
            key, found = key_step(frame), value_step(frame)
            causes += [key, found]
            present = _opened(found) if optional else found
            if present is None:
                values.pop(key.value, None)
                continue
            if key.value is UNKNOWN or present.value is UNKNOWN:
                return unknown(*causes)
            if key.value.__class__ is not str:
                values = keyed(values, key.value)
            values[key.value] = present.value
            members[str(key.value)] = present
        known = None if isinstance(values, KeyedMap) else members
        return Datum(values, None, tuple(causes), known)

    return run


def _opened(found: Datum) -> Datum | None:
    """Return the value in an optional; None if it is absent. Raises `TraceError`."""
    value = found.value
    if value is UNKNOWN:
        return found
    if value.__class__ is not OptionalValue:
        raise TraceError("cannot initialize an optional part from a value", found)
    return found._replace(value=value.value) if value.present else None


def opaque(parts: Sequence[Step]) -> Step:
    """Return the step of a value whose parts alone are known."""
    return lambda frame: unknown(*[part(frame) for part in parts])
