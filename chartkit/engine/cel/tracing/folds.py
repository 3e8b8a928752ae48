"""Macros that go through a list or map: which of its elements decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from chartkit.engine.cel.library.printing import go_type
from chartkit.engine.cel.tracing.datum import (
    UNKNOWN,
    Absence,
    Causes,
    Datum,
    Each,
    Extent,
    Step,
    TraceError,
    TraceFrame,
    Whole,
    because,
    elements,
    entries,
    extent_of,
    is_list,
    keys,
    listed,
    unknown,
)
from chartkit.engine.cel.tracing.junctions import attempt
from chartkit.engine.cel.values import KeyedMap, Value


class Loop(NamedTuple):
    """The elements that a macro goes through.

    first, second: the places of its variables in `TraceFrame.locals`; second: None for one.
    """

    items: Step
    first: int
    second: int | None

    def elements(self, frame: TraceFrame, items: Datum) -> list[tuple[Datum, Datum]]:
        """Return the values of the variables in each round."""
        if is_list(items):
            members = elements(items)
            frame.cost += len(members)
            frame.check()
            if self.second is None:
                return [(member, member) for member in members]
            return [(Datum(at), member) for at, member in enumerate(members)]
        if not isinstance(items.value, dict):
            raise TraceError(f"got '{go_type(items.value)}', expected iterable type", items)
        frame.cost += len(items.value)
        frame.check()
        if self.second is None:
            return [(key, key) for key in keys(items)]
        return entries(items)

    def round(self, frame: TraceFrame, element: tuple[Datum, Datum]) -> None:
        """Set the variables to the values of one round."""
        frame.cost += 1
        frame.check()
        frame.locals[self.first] = element[0]
        if self.second is not None:
            frame.locals[self.second] = element[1]


class _Rounds:
    """The results of a condition by their value, each with its element."""

    __slots__ = ("_by_value", "doubtful", "errors")

    def __init__(self, loop: Loop, condition: Step, frame: TraceFrame, items: Datum) -> None:
        self._by_value: dict[bool, tuple[list[Datum], list[Datum]]] = {
            True: ([], []),
            False: ([], []),
        }
        self.doubtful: list[Datum] = []
        self.errors: list[TraceError] = []
        for element in loop.elements(frame, items):
            loop.round(frame, element)
            datum = attempt(condition, frame)
            if isinstance(datum, TraceError):
                self.errors.append(datum)
            elif datum.value is True or datum.value is False:
                results, asked = self._by_value[datum.value]
                results.append(datum)
                asked.append(element[1])
            elif datum.value is UNKNOWN:
                self.doubtful.append(datum)
            else:
                self.errors.append(TraceError("no such overload", datum))

    def count(self, value: bool) -> int:
        """The number of results that have a value."""
        return len(self._by_value[value][0])

    def causes(self, value: bool) -> Each:
        """Return the causes of the results that have a value."""
        return Each(*self._by_value[value])

    def absence(self, items: Datum) -> Absence:
        """Return the causes of a list without an element for which the condition is true."""
        return Absence(extent_of(items).lacking, self.causes(False))

    def in_doubt(self, items: Datum) -> Datum:
        """The result of rounds, some of which have no value; raises the first error."""
        if not self.doubtful:
            causes = tuple([error.causes for error in self.errors])
            raise TraceError(self.errors[0].message, causes)
        # One of several: which one is unknown.
        only = len(self.doubtful) + len(self.errors) == 1
        return unknown(self.doubtful[0] if only else items)


def every(loop: Loop, condition: Step) -> Step:
    """`items.all(x, condition)`: the elements that are false decide."""

    def otherwise(rounds: _Rounds, items: Datum) -> Causes:
        return rounds.causes(True) if rounds.count(True) else items

    return _decided(loop, condition, False, otherwise)


def some(loop: Loop, condition: Step) -> Step:
    """`items.exists(x, condition)`: the elements that are true decide; else the list lacks one."""
    return _decided(loop, condition, True, lambda rounds, items: rounds.absence(items))


def _decided(
    loop: Loop, condition: Step, by: bool, otherwise: Callable[[_Rounds, Datum], Causes]
) -> Step:
    """Return a loop that one kind of element decides; otherwise: the causes where none does."""

    def run(frame: TraceFrame) -> Datum:
        items = loop.items(frame)
        if items.value is UNKNOWN and items.members is None:
            return unknown(items)
        rounds = _Rounds(loop, condition, frame, items)
        if rounds.count(by):
            return Datum(by, None, rounds.causes(by))
        if rounds.doubtful or rounds.errors:
            return rounds.in_doubt(items)
        return Datum(not by, None, otherwise(rounds, items))

    return run


def single(loop: Loop, condition: Step) -> Step:
    """`items.exists_one(x, condition)`."""

    def run(frame: TraceFrame) -> Datum:
        items = loop.items(frame)
        if items.value is UNKNOWN and items.members is None:
            return unknown(items)
        rounds = _Rounds(loop, condition, frame, items)
        if rounds.doubtful or rounds.errors:
            return rounds.in_doubt(items)
        count = rounds.count(True)
        return Datum(count == 1, None, rounds.causes(True) if count else rounds.absence(items))

    return run


class Outcome(NamedTuple):
    """The parts of a list or map that a macro makes; key: None for a list."""

    condition: Step | None
    value: Step
    key: Step | None = None


def collected(loop: Loop, outcome: Outcome) -> Step:
    """`items.map(x, value)`, `items.filter(x, condition)` and their kin."""
    condition, value_of, key_of = outcome

    def run(frame: TraceFrame) -> Datum:
        items = loop.items(frame)
        if items.value is UNKNOWN and items.members is None:
            return unknown(items)
        outer = extent_of(items)
        made: list[tuple[Datum, Datum]] = []
        held: list[Causes] = [outer.held] if outer.held else []
        dropped: list[Causes] = []
        for element in loop.elements(frame, items):
            loop.round(frame, element)
            if condition is not None:
                asked = condition(frame)
                if asked.value is UNKNOWN:
                    return unknown(asked, items)
                if asked.value is False:
                    dropped.append(asked)
                    continue
                if asked.value is not True:
                    raise TraceError("no such overload", asked)
                held.append(asked)
            value = value_of(frame)
            key = value if key_of is None else key_of(frame)
            made.append((key, value if condition is None else because(value, asked)))
        lacking = Absence(outer.lacking, tuple(dropped)) if dropped else outer.lacking
        extent = Extent(tuple(held), lacking)
        keyed = key_of is not None
        members = [value for _, value in made]
        if not keyed:
            return listed(members, extent)
        causes = Whole(members, extent)
        if any(key.value is UNKNOWN or value.value is UNKNOWN for key, value in made):
            return unknown(causes)
        if any(key.value.__class__ is not str for key, _ in made):
            return Datum(KeyedMap((key.value, value.value) for key, value in made), None, causes)
        values: dict[Value, Value] = {key.value: value.value for key, value in made}
        return Datum(values, None, causes, {str(key.value): value for key, value in made})

    return run


def bound(slot: int, value: Step, result: Step) -> Step:
    """`cel.bind(x, value, result)`; slot: of the variable in `TraceFrame.locals`."""

    def run(frame: TraceFrame) -> Datum:
        datum = attempt(value, frame)
        # An error counts where the variable is read.
        frame.locals[slot] = unknown(datum.causes) if isinstance(datum, TraceError) else datum
        return result(frame)

    return run
