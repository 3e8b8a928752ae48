"""Literals of lists, maps and objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from chartkit.engine.cel.errors import CelError, Stopped
from chartkit.engine.cel.interpreter.frame import Frame, Step
from chartkit.engine.cel.library.printing import show
from chartkit.engine.cel.library.standard.containers import UNHASHABLE_BYTES
from chartkit.engine.cel.values import KeyedMap, OptionalValue, Value

LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40
"""The cost of making a list, map or object in addition to its parts: cel-go's figures."""

Entry = tuple[Step, Step, bool]
"""Key, value, and whether the value is an optional one that may be left out."""

Construct = Callable[[Mapping[str, Value]], Value]


def list_of_steps(elements: Sequence[Step], optional: frozenset[int]) -> Step:
    """`[a, ?b]`."""
    if optional:
        return _optional_list(tuple(elements), optional)

    def run(frame: Frame) -> Value:
        values = [element(frame) for element in elements]
        frame.cost += LIST_COST
        return values

    return run


def _optional_list(elements: tuple[Step, ...], optional: frozenset[int]) -> Step:
    def run(frame: Frame) -> Value:
        values = []
        for index, element in enumerate(elements):
            value = element(frame)
            if index not in optional:
                values.append(value)
            elif value.__class__ is not OptionalValue:
                raise CelError(
                    "cannot initialize optional list element from non-optional value " + show(value)
                )
            elif value.present:
                values.append(value.value)
        frame.cost += LIST_COST
        return values

    return run


def map_of_steps(entries: Sequence[Entry]) -> Step:
    """`{a: b, ?c: d}`; the last entry of a key wins."""

    def run(frame: Frame) -> Value:
        values: dict[Value, Value] = {}
        for key_step, value_step, optional in entries:
            key = key_step(frame)
            if key.__class__ is not str:
                values = keyed(values, key)
            _put(values, key, value_step(frame), optional)
        frame.cost += MAP_COST
        return values

    return run


def keyed(values: dict[Value, Value], key: Value) -> dict[Value, Value]:
    """The map as one that takes a key that is no text; raises `CelError` for what is no key."""
    if key.__class__ is bytes:
        raise Stopped(UNHASHABLE_BYTES)
    return values if isinstance(values, KeyedMap) else KeyedMap(values.items())


def struct_of_steps(fields: Sequence[tuple[str, Step, bool]], construct: Construct) -> Step:
    """`Name{field: value, ?other: value}`."""

    def run(frame: Frame) -> Value:
        values: dict[Value, Value] = {}
        for name, step, optional in fields:
            _put(values, name, step(frame), optional)
        frame.cost += STRUCT_COST
        return construct(values)  # type: ignore[arg-type]

    return run


def _put(values: dict[Value, Value], key: Value, value: Value, optional: bool) -> None:
    if not optional:
        values[key] = value
    elif value.__class__ is not OptionalValue:
        raise CelError(
            f"cannot initialize optional entry '{show(key)}' from non-optional value {show(value)}"
        )
    elif value.present:
        values[key] = value.value
    else:
        values.pop(key, None)
