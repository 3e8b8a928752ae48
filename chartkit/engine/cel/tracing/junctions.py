"""Operators that not all operands decide: `&&`, `||`, `? :`, `orValue`, `in`."""

from __future__ import annotations

from collections.abc import Callable

from chartkit.engine.cel import ast
from chartkit.engine.cel.tracing.datum import (
    UNKNOWN,
    Causes,
    Datum,
    Guard,
    Read,
    Step,
    TraceError,
    TraceFrame,
    because,
    unknown,
)
from chartkit.engine.cel.tracing.pointers import tells
from chartkit.engine.cel.tracing.selections import elements
from chartkit.engine.cel.values import OptionalValue, same

_NO_OVERLOAD = "no such overload"


def attempt(step: Step, frame: TraceFrame) -> Datum | TraceError:
    """Return a part's value, or why it has none; what nothing absorbs is no `TraceError`."""
    try:
        return step(frame)
    except TraceError as error:
        return error


def conjunction(left: Step, right: Step) -> Step:
    """`left && right`; where both are true, conditions come first as a rule."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        first = attempt(left, frame)
        if isinstance(first, Datum) and first.value is False and not tells(first):
            # No field of the object changes that.
            return Datum(False)
        second = attempt(right, frame)
        if isinstance(first, Datum) and isinstance(second, Datum):
            if first.value is True and second.value is True:
                return Datum(True, None, (second, first))
            if first.value is False and second.value is True:
                return first
            if first.value is True and second.value is False:
                return second
        return _joined(first, second, False)

    return run


def disjunction(left: Step, right: Step, *, left_first: bool = False) -> Step:
    """`left || right`; what is required comes last as a rule, after conditions and exceptions.

    left_first: here it is the other way round.
    """

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        first, second = attempt(left, frame), attempt(right, frame)
        if left_first:
            first, second = second, first
        return _joined(second, first, True)

    return run


def _joined(first: Datum | TraceError, second: Datum | TraceError, decisive: bool) -> Datum:
    """Return the value of a junction that one decisive operand makes decisive."""
    operands = (first, second)
    deciding = [each for each in operands if isinstance(each, Datum) and each.value is decisive]
    if deciding:
        return deciding[0] if len(deciding) == 1 else Datum(decisive, None, tuple(deciding))
    for each in operands:
        if isinstance(each, TraceError):
            raise each.with_traceback(None)
    values = tuple([each for each in operands if isinstance(each, Datum)])
    open_ = [each for each in values if each.value is UNKNOWN]
    if open_:
        return unknown(*open_)
    if any(each.value is decisive or each.value.__class__ is not bool for each in values):
        raise TraceError(_NO_OVERLOAD, values)
    return Datum(not decisive, None, values)


def is_guard(expr: ast.Expr) -> bool:
    """Return whether an operand of `||` is of the form "there is no such field"."""
    if not isinstance(expr, ast.Call) or expr.function != "!_":
        return False
    asked = expr.args[0]
    return isinstance(asked, ast.Select) and asked.test_only


def choice(condition: Step, yes: Step, no: Step) -> Step:
    """`condition ? yes : no`."""

    def run(frame: TraceFrame) -> Datum:
        asked = condition(frame)
        if asked.value is UNKNOWN:
            return unknown(asked)
        if asked.value.__class__ is not bool:
            raise TraceError(_NO_OVERLOAD, asked)
        try:
            chosen = (yes if asked.value else no)(frame)
        except TraceError as error:
            raise TraceError(error.message, (error.causes, Guard(asked))) from None
        return _chosen(asked.causes, chosen) or because(chosen, asked)

    return run


def _chosen(why: Causes, chosen: Datum) -> Datum | None:
    """Return a value that a question about one field led to, where that is the field of the value
    itself, or the value is empty and stands for it; else None."""
    if not isinstance(why, Read | Datum) or not why.path:
        return None
    place, present = why.path, isinstance(why, Read) and why.presence
    if isinstance(why, Datum) and why.causes:
        return None
    if chosen.path is not None:
        return chosen if chosen.path[: len(place)] == place else None
    stands = chosen.is_constant and not chosen.value and not present
    return Datum(chosen.value, place) if stands else None


def or_value(left: Step, right: Step) -> Step:
    """`left.orValue(right)`."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        optional = left(frame)
        value, path, causes, members, extent = optional
        if value is UNKNOWN:
            return optional
        if not isinstance(value, OptionalValue):
            raise TraceError(_NO_OVERLOAD, optional)
        if value.present:
            return Datum(value.value, path, causes, members, extent)
        return _default(optional, right(frame))

    return run


def or_any_value(left: Step, right: Step) -> Step:
    """Kyverno's `left.orValue(right)`: a value that is no optional is taken as it is, and the other
    one must have a value in any case."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        optional, default = left(frame), right(frame)
        value, path, causes, members, extent = optional
        if not isinstance(value, OptionalValue):
            return optional
        if value.present:
            return Datum(value.value, path, causes, members, extent)
        return _default(optional, default)

    return run


def or_optional(left: Step, right: Step) -> Step:
    """`left.or(right)`."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        optional = left(frame)
        if optional.value is UNKNOWN:
            return optional
        if not isinstance(optional.value, OptionalValue):
            raise TraceError(_NO_OVERLOAD, optional)
        return optional if optional.value.present else _default(optional, right(frame))

    return run


def _default(absent: Datum, default: Datum) -> Datum:
    """Return a default with the provenance of the value that is absent."""
    if default.is_constant:
        return Datum(default.value, absent.path, absent.causes)
    return default._replace(causes=(default.causes, absent))


def membership(
    call: Callable[[TraceFrame, Datum, Datum], Datum], value: Step, members: Step
) -> Step:
    """`value in members`; call: the function."""

    def run(frame: TraceFrame) -> Datum:
        searched, container = value(frame), members(frame)
        result = call(frame, searched, container)
        key, held, path = searched.value, container.value, container.path
        if isinstance(held, dict) and isinstance(key, str) and path is not None:
            place = Read((*path, key), presence=result.value is True)
            return Datum(result.value, None, (place, Guard((container.causes, searched))))
        if result.value is True and isinstance(held, list) and not container.is_constant:
            where = [each for each in elements(container) if same(each.value, key)]
            return Datum(True, None, (*where, searched))
        return result

    return run
