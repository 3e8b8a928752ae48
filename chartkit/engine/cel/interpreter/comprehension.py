"""Folds over lists and maps: what `all`, `map`, `filter` and their kin are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter.aggregates import keyed
from chartkit.engine.cel.interpreter.frame import Frame, Step, absorbed
from chartkit.engine.cel.library.printing import go_type, show
from chartkit.engine.cel.library.standard.containers import find_key
from chartkit.engine.cel.values import Value

_UNSET: Final = object()
"""An accumulator whose first value nobody has asked for yet."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The parts of a comprehension; accumulator, first, second: places in `Frame.slots`.

    second is None where the comprehension has one variable; condition where it always holds.
    """

    iter_range: Step
    accumulator: int
    first: int
    second: int | None
    condition: Step | None
    step: Step
    result: Step

    def run(self, frame: Frame) -> Value:
        """The value of the comprehension; an error in the accumulator counts where it is read."""
        items = self._items(self.iter_range(frame))
        slots = frame.slots
        slots[self.accumulator] = _UNSET
        first, second, condition, step = self.first, self.second, self.condition, self.step
        limit = frame.limit
        for key, value in items:
            slots[first] = key
            if second is not None:
                slots[second] = value
            if condition is not None and not _goes_on(condition, frame):
                break
            try:
                updated = step(frame)
            except CelError as failure:
                updated = absorbed(failure, frame)
            slots[self.accumulator] = updated
            if frame.cost > limit:
                frame.check()
        return self.result(frame)

    def _items(self, values: Value) -> Iterable[tuple[Value, Value]]:
        if self.second is None:
            if values.__class__ is list or isinstance(values, dict):
                return _singles(values)
            raise CelError(f"got '{go_type(values)}', expected iterable type")
        if values.__class__ is list:
            return enumerate(values)
        if isinstance(values, dict):
            return ((key, values[key]) for key in values)
        raise CelError(f"unsupported comprehension range type: {go_type(values)}")


def _goes_on(condition: Step, frame: Frame) -> bool:
    try:
        return condition(frame) is not False
    except CelError as failure:
        # A condition that fails does not end the loop.
        absorbed(failure, frame)
        return True


def _singles(values: Iterable[Value]) -> Iterator[tuple[Value, Value]]:
    for value in values:
        yield value, None


def accumulated(slot: int, initial: Step) -> Step:
    """The step that reads an accumulator; its first value is computed when it is first read."""

    def run(frame: Frame) -> Value:
        value = frame.slots[slot]
        if value is _UNSET:
            try:
                value = initial(frame)
            except CelError as failure:
                value = absorbed(failure, frame)
            frame.slots[slot] = value
        if isinstance(value, CelError):
            # Else every round would lengthen the error's traceback.
            raise value.with_traceback(None)
        return value

    return run


def appended(accumulator: Step, elements: tuple[Step, ...]) -> Step:
    """`accumulator + [elements]` for a list that nothing else can see: extended in place."""

    def run(frame: Frame) -> Value:
        # As the addition of a new list: the accumulator is read (1), made (10), added (1).
        frame.cost += 1
        members: list[Value] = accumulator(frame)  # type: ignore[assignment]
        added = [element(frame) for element in elements]
        frame.cost += 11
        members.extend(added)
        return members

    return run


def inserted(accumulator: Step, key: Step, value: Step) -> Step:
    """`cel.@mapInsert(accumulator, key, value)` for a map that nothing else can see."""

    def run(frame: Frame) -> Value:
        frame.cost += 1
        entries: dict[Value, Value] = accumulator(frame)  # type: ignore[assignment]
        new_key = key(frame)
        new_value = value(frame)
        frame.cost += 1
        return _insert(entries, new_key, new_value)

    return run


def merged(accumulator: Step, more: Step) -> Step:
    """`cel.@mapInsert(accumulator, {…})` for a map that nothing else can see."""

    def run(frame: Frame) -> Value:
        frame.cost += 1
        entries: Value = accumulator(frame)
        added = more(frame)
        frame.cost += 1
        if not isinstance(added, dict):
            raise CelError("no such overload")
        for key, value in added.items():
            entries = _insert(entries, key, value)  # type: ignore[arg-type]
        return entries

    return run


def _insert(entries: dict[Value, Value], key: Value, value: Value) -> dict[Value, Value]:
    if find_key(entries, key, _UNSET) is not _UNSET:
        raise CelError(f"insert failed: key {show(key)} already exists")
    if key.__class__ is not str:
        entries = keyed(entries, key)
    entries[key] = value
    return entries
