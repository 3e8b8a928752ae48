"""Calls of functions: arguments first, then the overload that takes them, then what it cost."""

from __future__ import annotations

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter.dispatch import UNIT_WHEN_OPEN, Dispatch
from chartkit.engine.cel.interpreter.frame import CALL_WORK, Frame, Step
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.searching import is_found, searched
from chartkit.engine.cel.values import OptionalValue, Value, equal, same
from chartkit.engine.reads import asks_outside
from chartkit.go.regexp import compile_regex

_CONTAINERS = frozenset({list, dict})
_SIZED = frozenset({list, dict, str, bytes})
_QUICK = frozenset(
    {
        *("_+_", "_-_", "_*_", "_/_", "_%_", "-_", "!_", "_<_", "_<=_", "_>_", "_>=_", "@in"),
        *("size", "type", "dyn", "optional.of", "value", "hasValue", "cel.@mapInsert"),
    }
)
"""Functions that do not look at every member of a list or map that they get."""

_TEXT = 10
"""Characters of a text that is made that are as much work as one member."""


def call(dispatch: Dispatch, arguments: tuple[Step, ...], certain: bool) -> Step:
    """A call; certain: the checker left one overload only."""
    unit = not certain and dispatch.function in UNIT_WHEN_OPEN
    if len(arguments) == 1:
        argument = arguments[0]
        return lambda frame: apply(frame, dispatch, (argument(frame),), unit)
    if len(arguments) == 2:
        left, right = arguments
        return lambda frame: apply(frame, dispatch, (left(frame), right(frame)), unit)
    return lambda frame: apply(
        frame, dispatch, tuple([argument(frame) for argument in arguments]), unit
    )


def apply(frame: Frame, dispatch: Dispatch, args: tuple[Value, ...], unit: bool) -> Value:
    """The value of a call; unit: it costs 1. Raises `CelError`."""
    # A call costs, even one that fails.
    frame.cost += 1
    if dispatch.function not in _QUICK:
        frame.work(CALL_WORK)
        for arg in args:
            if arg.__class__ in _SIZED:
                frame.traverse(arg)
    overload = dispatch.find(args)
    if overload.hosted:
        asks_outside()
        result = overload.implementation(frame.host, *args)
    else:
        result = overload.implementation(*args)
    cost = overload.cost
    if cost is not None and not unit:
        spent = cost(args, result)
        if spent != costs.UNTOLD or frame.limited:
            frame.cost += spent - 1
            frame.check()
    if overload.work is not None:
        frame.work(overload.work(args, result))
    kind = result.__class__
    if kind in _SIZED:
        frame.work(len(result) if kind is list or kind is dict else len(result) // _TEXT)
    return result


def membership(dispatch: Dispatch, value: Step, members: Step, certain: bool) -> Step:
    """`value in members`."""

    def run(frame: Frame) -> Value:
        args = (value(frame), members(frame))
        if args[1].__class__ is list:
            if args[0].__class__ in _CONTAINERS:
                frame.traverse(args[1])
            frame.work(len(args[1]))
        return apply(frame, dispatch, args, not certain)

    return run


def equals(left: Step, right: Step) -> Step:
    """`left == right`."""
    return lambda frame: equal(*compared(frame, left(frame), right(frame)))


def differs(left: Step, right: Step) -> Step:
    """`left != right`: also true where the comparison is refused."""
    return lambda frame: not same(*compared(frame, left(frame), right(frame)))


def compared(frame: Frame, left: Value, right: Value) -> tuple[Value, Value]:
    """The values of a comparison, whose cost counts."""
    kind = left.__class__
    if kind in _SIZED or kind is OptionalValue:
        frame.cost += costs.of_shorter((left, right), None)
        if kind in _CONTAINERS and right.__class__ is kind:
            frame.work(CALL_WORK)
            frame.traverse(left)
    else:
        frame.cost += 1
    return left, right


def matching(text: Step, pattern: str) -> Step:
    """`text.matches(pattern)` for a constant pattern, which is compiled once."""
    regex = compile_regex(pattern)

    def run(frame: Frame) -> Value:
        value = text(frame)
        if not isinstance(value, str):
            raise CelError("no such overload")
        frame.cost += costs.of_matching((value, pattern), None)
        frame.check()
        frame.work(CALL_WORK + searched(regex, len(value)))
        return is_found(regex, value)

    return run
