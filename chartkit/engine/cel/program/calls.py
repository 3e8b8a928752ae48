"""Calls of functions: arguments first, then the overload that takes them, then what it cost."""

from __future__ import annotations

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.program.dispatch import UNIT_WHEN_OPEN, Dispatch
from chartkit.engine.cel.program.frame import Frame, Step
from chartkit.engine.cel.values import Value, equal, same
from chartkit.engine.values.regexp import compile_regex


def call(dispatch: Dispatch, arguments: tuple[Step, ...], certain: bool) -> Step:
    """A call; certain: the checker left one overload only."""
    unit = not certain and dispatch.function in UNIT_WHEN_OPEN
    if len(arguments) == 1:
        argument = arguments[0]
        return lambda frame: _apply(frame, dispatch, (argument(frame),), unit)
    if len(arguments) == 2:
        left, right = arguments
        return lambda frame: _apply(frame, dispatch, (left(frame), right(frame)), unit)
    return lambda frame: _apply(
        frame, dispatch, tuple([argument(frame) for argument in arguments]), unit
    )


def _apply(frame: Frame, dispatch: Dispatch, args: tuple[Value, ...], unit: bool) -> Value:
    # A call costs, even one that fails.
    frame.cost += 1
    overload = dispatch.find(args)
    if overload.hosted:
        result = overload.implementation(frame.host, *args)
    else:
        result = overload.implementation(*args)
    cost = overload.cost
    if cost is not None and not unit:
        frame.cost += cost(args, result) - 1
        frame.check()
    return result


def equals(left: Step, right: Step) -> Step:
    """`left == right`."""

    def run(frame: Frame) -> Value:
        first = left(frame)
        second = right(frame)
        frame.cost += costs.of_shorter((first, second), None)
        return equal(first, second)

    return run


def differs(left: Step, right: Step) -> Step:
    """`left != right`: also true where the comparison is refused."""

    def run(frame: Frame) -> Value:
        first = left(frame)
        second = right(frame)
        frame.cost += costs.of_shorter((first, second), None)
        return not same(first, second)

    return run


def matching(text: Step, pattern: str) -> Step:
    """`text.matches(pattern)` for a constant pattern, which is compiled once."""
    matches = compile_regex(pattern).matches

    def run(frame: Frame) -> Value:
        value = text(frame)
        if not isinstance(value, str):
            raise CelError("no such overload")
        frame.cost += costs.of_matching((value, pattern), None)
        frame.check()
        return matches(value)

    return run
