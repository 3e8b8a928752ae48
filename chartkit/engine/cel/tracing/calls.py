"""Calls of functions whose values keep the provenance of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chartkit.engine.cel.errors import CelError, Stopped
from chartkit.engine.cel.interpreter.calls import apply, compared
from chartkit.engine.cel.interpreter.dispatch import UNIT_WHEN_OPEN, Dispatch
from chartkit.engine.cel.tracing.causes import NO_CAUSES, guard, join
from chartkit.engine.cel.tracing.datum import (
    UNKNOWN,
    Datum,
    Extent,
    Step,
    TraceError,
    TraceFrame,
    elements,
    extent_of,
    reads,
    unknown,
)
from chartkit.engine.cel.tracing.folds import listed
from chartkit.engine.cel.tracing.repeats import Unrepeatable
from chartkit.engine.cel.values import OptionalValue, Value, equal, same

Call = Callable[[TraceFrame, Sequence[Datum]], Datum]
"""A function, ready to be called."""


def function(dispatch: Dispatch, certain: bool) -> Call:
    """Return a call; certain: the checker left one overload only."""
    unit = not certain and dispatch.function in UNIT_WHEN_OPEN

    def run(frame: TraceFrame, args: Sequence[Datum]) -> Datum:
        causes = join([reads(each) for each in args])
        if any(each.value is UNKNOWN for each in args):
            return unknown(causes)
        try:
            value = apply(frame, dispatch, tuple([each.value for each in args]), unit)
        except Unrepeatable:
            return unknown(causes)
        except Stopped:
            raise
        except CelError as error:
            raise TraceError(error.message, causes) from None
        return Datum(value, None, causes)

    return run


def comparison(*, equality: bool) -> Call:
    """Return the call of `==` or `!=`."""

    def run(frame: TraceFrame, args: Sequence[Datum]) -> Datum:
        left, right = args
        causes = join((reads(left), reads(right)))
        if left.value is UNKNOWN or right.value is UNKNOWN:
            return unknown(causes)
        compared(frame, left.value, right.value)
        if not equality:
            return Datum(not same(left.value, right.value), None, causes)
        try:
            return Datum(equal(left.value, right.value), None, causes)
        except CelError as error:
            raise TraceError(error.message, causes) from None

    return run


def step(call: Call, arguments: Sequence[Step]) -> Step:
    """Return the step of a call."""
    return lambda frame: call(frame, [argument(frame) for argument in arguments])


def special(name: str, call: Call) -> Call:
    """Return a call that knows where the parts of a function's value come from."""
    known = _SPECIAL.get(name)
    return call if known is None else known(call)


def _sum(call: Call) -> Call:
    def run(frame: TraceFrame, args: Sequence[Datum]) -> Datum:
        left, right = args
        if not (_is_list(left) and _is_list(right)):
            return call(frame, args)
        members = (*elements(left), *elements(right))
        frame.cost += len(members)
        frame.check()
        first, second = extent_of(left), extent_of(right)
        held = join((first.held, second.held))
        return listed(members, Extent(held, join((first.lacking, second.lacking))))

    return run


def _is_list(datum: Datum) -> bool:
    return datum.value.__class__ is list or isinstance(datum.members, list | tuple)


def _rearranged(call: Call) -> Call:
    """Lists that have the elements of another one in other places."""

    def run(frame: TraceFrame, args: Sequence[Datum]) -> Datum:
        result = call(frame, args)
        if not isinstance(result.value, list) or not _is_list(args[0]):
            return result
        known: dict[object, Datum] = {}
        for each in elements(args[0]):
            known.setdefault(_mark(each.value), each)
        members = [
            known.get(_mark(value)) or Datum(value, None, result.causes) for value in result.value
        ]
        return result._replace(members=members, extent=extent_of(args[0]))

    return run


def _mark(value: Value) -> object:
    return value if isinstance(value, str) else id(value)


def _flattened(call: Call) -> Call:
    def run(frame: TraceFrame, args: Sequence[Datum]) -> Datum:
        result = call(frame, args)
        if len(args) > 1 or not isinstance(result.value, list):
            return result
        members: list[Datum] = []
        extents = [extent_of(args[0])]
        for each in elements(args[0]):
            if _is_list(each):
                members += elements(each)
                extents.append(extent_of(each))
            else:
                members.append(each)
        return listed(members, Extent(*(join(causes) for causes in zip(*extents, strict=True))))

    return run


def _kept(call: Call) -> Call:
    """Functions whose value is that of their argument, or an optional of it."""

    def run(frame: TraceFrame, args: Sequence[Datum]) -> Datum:
        result = call(frame, args)
        return result if result.value is UNKNOWN else args[0]._replace(value=result.value)

    return run


def _end(at: int) -> Callable[[Call], Call]:
    """The first or last element of a list."""

    def known(call: Call) -> Call:
        def run(frame: TraceFrame, args: Sequence[Datum]) -> Datum:
            result = call(frame, args)
            if not isinstance(result.value, OptionalValue) or not result.value.present:
                return result
            found = elements(args[0])[at]
            why = NO_CAUSES if args[0].extent is None else guard(args[0].extent.lacking)
            return found._replace(value=result.value, causes=join((found.causes, why)))

        return run

    return known


_SPECIAL: Final[dict[str, Callable[[Call], Call]]] = {
    "_+_": _sum,
    "@sortByAssociatedKeys": _rearranged,
    "distinct": _rearranged,
    "dyn": _kept,
    "first": _end(0),
    "flatten": _flattened,
    "last": _end(-1),
    "optional.of": _kept,
    "optional.ofNonZeroValue": _kept,
    "reverse": _rearranged,
    "slice": _rearranged,
    "sort": _rearranged,
    "value": _kept,
}
