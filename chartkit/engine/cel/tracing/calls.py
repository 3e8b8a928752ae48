"""Calls of functions, whose values keep the provenance of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from chartkit.engine.cel.errors import CelError, Stopped
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.comprehension import apply, compared
from chartkit.engine.cel.interpreter.dispatch import UNIT_WHEN_OPEN, Dispatch
from chartkit.engine.cel.tracing.datum import (
    UNKNOWN,
    Causes,
    Datum,
    Step,
    TraceError,
    TraceFrame,
    because,
    elements,
    extent_of,
    is_list,
    listed,
    together,
    unknown,
)
from chartkit.engine.cel.values import OptionalValue, Value, equal, same


class Unrepeatable(Exception):  # noqa: N818 - no error: a value that a trace does without
    """A question has an effect, or another answer each time."""


def _repeated(question: str) -> Any:
    def ask(self: RepeatHost, *arguments: Value) -> Any:
        self.asked = True
        return getattr(self.host, question)(*arguments)

    return ask


def _refused() -> Any:
    def ask(self: RepeatHost, *_arguments: Value) -> Any:
        self.asked = True
        raise Unrepeatable

    return ask


class RepeatHost(Host):
    """A host that passes on the questions whose answers are kept, or cost nothing.

    asked: whether there was any question.
    """

    def __init__(self, host: Host) -> None:
        self.asked = False
        self.policy_namespace = host.policy_namespace
        self.host = host

    get_resource = _repeated("get_resource")
    list_resources = _repeated("list_resources")
    plural = _repeated("plural")
    global_context = _repeated("global_context")
    image_data = _repeated("image_data")
    now = _repeated("now")
    post_resource = http = generate = _refused()
    verify_image = image_payload = random_below = _refused()


Call = Callable[[TraceFrame, tuple[Datum, ...]], Datum]
"""A function, ready to be called."""


def function(dispatch: Dispatch, certain: bool) -> Call:
    """Return a call; certain: the checker left one overload only."""
    unit = not certain and dispatch.function in UNIT_WHEN_OPEN

    def run(frame: TraceFrame, args: tuple[Datum, ...]) -> Datum:
        values = tuple([arg[0] for arg in args])
        causes = _causes(args)
        for value in values:
            if value is UNKNOWN:
                return unknown(causes)
        try:
            return Datum(apply(frame, dispatch, values, unit), None, causes)
        except Unrepeatable:
            return unknown(causes)
        except Stopped:
            raise
        except CelError as error:
            raise TraceError(error.message, causes) from None

    return run


def _causes(args: Sequence[Datum]) -> Causes:
    """The arguments that depend on the object, as causes."""
    causes = tuple([arg for arg in args if arg[1] is not None or arg[2] or arg[3]])
    return causes[0] if len(causes) == 1 else causes


def negation(argument: Step) -> Step:
    """`!argument`."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        value, path, causes, _, _ = datum = argument(frame)
        if value is UNKNOWN:
            return datum
        if value.__class__ is not bool:
            raise TraceError("no such overload", datum)
        return Datum(not value, None, causes if path is None else datum)

    return run


def comparison(left: Step, right: Step, *, equality: bool) -> Step:
    """`left == right` or `left != right`."""

    def run(frame: TraceFrame) -> Datum:
        first, second = left(frame), right(frame)
        value, other = first[0], second[0]
        causes = _causes((first, second))
        if value is UNKNOWN or other is UNKNOWN:
            return unknown(causes)
        if value.__class__ in _SCALARS:
            frame.cost += 1
        else:
            compared(frame, value, other)
        if not equality:
            return Datum(not same(value, other), None, causes)
        try:
            return Datum(equal(value, other), None, causes)
        except CelError as error:
            raise TraceError(error.message, causes) from None

    return run


def comparison_with(left: Step, other: Value, *, equality: bool) -> Step:
    """`left == constant` or `left != constant`, the constant a scalar."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        datum = left(frame)
        value = datum[0]
        if value is UNKNOWN:
            return datum
        causes = datum if datum[1] is not None else datum[2]
        return _new(Datum, (same(value, other) is equality, None, causes, None, None))

    return run


_SCALARS: Final = frozenset({bool, int, float, type(None)})
_new: Final = tuple.__new__


def step(call: Call, arguments: Sequence[Step]) -> Step:
    return lambda frame: call(frame, tuple([argument(frame) for argument in arguments]))


def special(name: str, call: Call) -> Call:
    """Return a call that knows where the parts of a function's value come from."""
    wrap = _SPECIAL.get(name)
    return call if wrap is None else wrap(call)


def _sum(call: Call) -> Call:
    def run(frame: TraceFrame, args: tuple[Datum, ...]) -> Datum:
        left, right = args
        if not (is_list(left) and is_list(right)):
            return call(frame, args)
        members = (*elements(left), *elements(right))
        frame.cost += len(members)
        frame.check()
        return listed(members, together(extent_of(left), extent_of(right)))

    return run


def _rearranged(call: Call) -> Call:
    """Lists that have the elements of another one in another order."""

    def run(frame: TraceFrame, args: tuple[Datum, ...]) -> Datum:
        result = call(frame, args)
        if not isinstance(result.value, list) or not is_list(args[0]):
            return result
        by_mark: dict[object, Datum] = {}
        for element in elements(args[0]):
            by_mark.setdefault(_mark(element.value), element)
        members = [by_mark.get(_mark(value)) or Datum(value, None, args) for value in result.value]
        return listed(members, extent_of(args[0]))

    return run


def _mark(value: Value) -> object:
    return value if isinstance(value, str) else id(value)


def _flattened(call: Call) -> Call:
    def run(frame: TraceFrame, args: tuple[Datum, ...]) -> Datum:
        result = call(frame, args)
        if len(args) > 1 or not isinstance(result.value, list):
            return result
        members: list[Datum] = []
        extents = [extent_of(args[0])]
        for element in elements(args[0]):
            if is_list(element):
                members += elements(element)
                extents.append(extent_of(element))
            else:
                members.append(element)
        return listed(members, together(*extents))

    return run


def _kept(call: Call) -> Call:
    """Functions that return their argument, or an optional of it."""

    def run(frame: TraceFrame, args: tuple[Datum, ...]) -> Datum:
        result = call(frame, args)
        return result if result.value is UNKNOWN else args[0]._replace(value=result.value)

    return run


def _end(at: int) -> Callable[[Call], Call]:
    """The first or last element of a list."""

    def traced(call: Call) -> Call:
        def run(frame: TraceFrame, args: tuple[Datum, ...]) -> Datum:
            result = call(frame, args)
            if not isinstance(result.value, OptionalValue) or not result.value.present:
                return result
            element = elements(args[0])[at]._replace(value=result.value)
            extent = args[0].extent
            return element if extent is None else because(element, extent.lacking)

        return run

    return traced


_SPECIAL: Final[dict[str, Callable[[Call], Call]]] = {
    "_+_": _sum,
    "@sortByAssociatedKeys": _rearranged,
    "distinct": _rearranged,
    "dyn": lambda _call: lambda _frame, args: args[0],
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
