"""Macros that go through a list or map: which of its elements decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chartkit.engine.cel.interpreter.go_type_names import go_type
from chartkit.engine.cel.tracing.causes import NO_CAUSES, Causes, guard, join
from chartkit.engine.cel.tracing.datum import (
    UNKNOWN,
    Datum,
    Extent,
    Step,
    TraceError,
    TraceFrame,
    elements,
    entries,
    extent_of,
    reads,
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
        value = items.value
        made = isinstance(items.members, Sequence)
        if made or value.__class__ is list:
            found = elements(items)
            frame.cost += len(found)
            frame.check()
            if self.second is None:
                return [(each, each) for each in found]
            return [(Datum(at), each) for at, each in enumerate(found)]
        if not isinstance(value, dict):
            text = f"got '{go_type(value)}', expected iterable type"
            raise TraceError(text, reads(items))
        frame.cost += len(value)
        frame.check()
        return entries(items)

    def round(self, frame: TraceFrame, element: tuple[Datum, Datum]) -> None:
        """Give the variables the values of one round."""
        frame.cost += 1
        frame.check()
        frame.locals[self.first] = element[0]
        if self.second is not None:
            frame.locals[self.second] = element[1]


class Rounds(NamedTuple):
    """The outcomes of a condition: causes of each round that was true, false, or unknown."""

    true: list[Causes]
    false: list[Causes]
    open: list[Causes]
    errors: list[TraceError]

    @property
    def doubt(self) -> list[Causes]:
        """The causes of rounds that came to neither."""
        return [*self.open, *(error.causes for error in self.errors)]


def _rounds(loop: Loop, condition: Step, frame: TraceFrame, items: Datum) -> Rounds:
    rounds = Rounds([], [], [], [])
    for element in loop.elements(frame, items):
        loop.round(frame, element)
        found = attempt(condition, frame)
        if isinstance(found, TraceError):
            rounds.errors.append(found)
            continue
        causes = reads(found)
        if not causes:
            causes = reads(element[1])
        if found.value is True:
            rounds.true.append(causes)
        elif found.value is False:
            rounds.false.append(causes)
        elif found.value is UNKNOWN:
            rounds.open.append(causes)
        else:
            rounds.errors.append(TraceError("no such overload", causes))
    return rounds


def every(loop: Loop, condition: Step) -> Step:
    """`items.all(x, condition)`: the elements that are false decide."""

    def run(frame: TraceFrame) -> Datum:
        items = loop.items(frame)
        if items.value is UNKNOWN and items.members is None:
            return unknown(reads(items))
        rounds = _rounds(loop, condition, frame, items)
        if rounds.false:
            return Datum(False, None, join(rounds.false))
        if rounds.doubt:
            return _doubtful(rounds, items)
        return Datum(True, None, join(rounds.true) or reads(items))

    return run


def some(loop: Loop, condition: Step) -> Step:
    """`items.exists(x, condition)`: the elements that are true decide; else the list lacks one."""

    def run(frame: TraceFrame) -> Datum:
        items = loop.items(frame)
        if items.value is UNKNOWN and items.members is None:
            return unknown(reads(items))
        rounds = _rounds(loop, condition, frame, items)
        if rounds.true:
            return Datum(True, None, join(rounds.true))
        if rounds.doubt:
            return _doubtful(rounds, items)
        return Datum(False, None, _absence(items, rounds.false))

    return run


def single(loop: Loop, condition: Step) -> Step:
    """`items.exists_one(x, condition)`."""

    def run(frame: TraceFrame) -> Datum:
        items = loop.items(frame)
        if items.value is UNKNOWN and items.members is None:
            return unknown(reads(items))
        rounds = _rounds(loop, condition, frame, items)
        if rounds.doubt:
            return _doubtful(rounds, items)
        causes = join(rounds.true) if rounds.true else _absence(items, rounds.false)
        return Datum(len(rounds.true) == 1, None, causes)

    return run


def _doubtful(rounds: Rounds, items: Datum) -> Datum:
    """Return the result of rounds of which some have no value; raises the first error."""
    if not rounds.open:
        raise TraceError(rounds.errors[0].message, join(rounds.doubt))
    # One of several: nobody knows which.
    return unknown(rounds.open[0] if len(rounds.doubt) == 1 else reads(items))


def _absence(items: Datum, rounds: Sequence[Causes]) -> Causes:
    """Return the causes of a list with no element for which a condition is true: the list that
    may have more, and then what its elements have instead."""
    lacking = extent_of(items).lacking
    found = join(rounds)
    return join((lacking, guard(found))) if lacking else found


class Outcome(NamedTuple):
    """The parts of a list or map that a macro makes; key: None for a list."""

    condition: Step | None
    value: Step
    key: Step | None = None


def collected(loop: Loop, outcome: Outcome) -> Step:
    """`items.map(x, value)`, `items.filter(x, condition)` and their kin."""

    def run(frame: TraceFrame) -> Datum:
        items = loop.items(frame)
        if items.value is UNKNOWN and items.members is None:
            return unknown(reads(items))
        outer = extent_of(items)
        made: list[tuple[Datum, Datum]] = []
        held: list[Causes] = [outer.held]
        dropped: list[Causes] = []
        for element in loop.elements(frame, items):
            loop.round(frame, element)
            why: Causes = NO_CAUSES
            if outcome.condition is not None:
                asked = outcome.condition(frame)
                why = reads(asked)
                if asked.value is UNKNOWN:
                    return unknown(join((why, reads(items))))
                if asked.value is False:
                    dropped.append(why)
                    continue
                if asked.value is not True:
                    raise TraceError("no such overload", why)
            value = outcome.value(frame)
            key = value if outcome.key is None else outcome.key(frame)
            if why:
                held.append(why)
                value = value._replace(causes=join((value.causes, guard(why))))
            made.append((key, value))
        extent = Extent(join(held), _absence(items, dropped))
        return _made(made, extent, outcome.key is not None)

    return run


def _made(made: Sequence[tuple[Datum, Datum]], extent: Extent, keyed: bool) -> Datum:
    members = [value for _, value in made]
    if not keyed:
        return listed(members, extent)
    causes = _whole(members, extent)
    if any(key.value is UNKNOWN or value.value is UNKNOWN for key, value in made):
        return unknown(causes)
    if any(key.value.__class__ is not str for key, _ in made):
        return Datum(KeyedMap((key.value, value.value) for key, value in made), None, causes)
    values: dict[Value, Value] = {key.value: value.value for key, value in made}
    return Datum(values, None, causes, {str(key.value): value for key, value in made})


def listed(members: Sequence[Datum], extent: Extent) -> Datum:
    """Return a list that an expression made of values with a provenance."""
    values = [each.value for each in members]
    known = not any(each is UNKNOWN for each in values)
    return Datum(values if known else UNKNOWN, None, _whole(members, extent), members, extent)


def _whole(members: Sequence[Datum], extent: Extent) -> Causes:
    """Return the causes of a list or map as a whole: why it has its elements, or these."""
    if not members:
        return extent.lacking
    values = join([reads(each) for each in members])
    return join((extent.held, guard(values)) if extent.held else (values, guard(extent.lacking)))


def bound(place: int, value: Step, result: Step) -> Step:
    """`cel.bind(x, value, result)`; place: of the variable in `TraceFrame.locals`."""

    def run(frame: TraceFrame) -> Datum:
        found = attempt(value, frame)
        if isinstance(found, TraceError):
            # It counts where the variable is read.
            found = unknown(found.causes)
        frame.locals[place] = found
        return result(frame)

    return run
