"""Operators that not all operands decide: `&&`, `||`, `!`, `? :`, `orValue`, `in`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chartkit.engine.cel import ast
from chartkit.engine.cel.tracing.causes import Causes, Read, guard, join
from chartkit.engine.cel.tracing.datum import (
    UNKNOWN,
    Datum,
    Step,
    TraceError,
    TraceFrame,
    elements,
    reads,
    unknown,
)
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
        if _is(first, False) and not reads(first):  # type: ignore[arg-type]
            # No field of the object changes that.
            return Datum(False)
        second = attempt(right, frame)
        both = _is(first, True) and _is(second, True)
        return _joined((second, first) if both else (first, second), False)

    return run


def disjunction(left: Step, right: Step, *, left_first: bool = False) -> Step:
    """`left || right`; what is required comes last as a rule, after conditions and exceptions.

    left_first: here it is the other way round.
    """

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        first = attempt(left, frame)
        found = (first, attempt(right, frame))
        return _joined(found if left_first else found[::-1], True)

    return run


def _is(found: Datum | TraceError, value: bool) -> bool:
    return isinstance(found, Datum) and found.value is value


def _joined(operands: Sequence[Datum | TraceError], decisive: bool) -> Datum:
    """Return the value of a junction that one decisive operand makes decisive."""
    deciding = [each for each in operands if isinstance(each, Datum) and each.value is decisive]
    if deciding:
        return Datum(decisive, None, join([reads(each) for each in deciding]))
    for each in operands:
        if isinstance(each, TraceError):
            raise each.with_traceback(None)
    values: list[Datum] = [each for each in operands if isinstance(each, Datum)]
    open_ = [reads(each) for each in values if each.value is UNKNOWN]
    if open_:
        return unknown(join(open_))
    causes = join([reads(each) for each in values])
    if any(each.value is not (not decisive) for each in values):
        raise TraceError(_NO_OVERLOAD, causes)
    return Datum(not decisive, None, causes)


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
        why = reads(asked)
        if asked.value is UNKNOWN:
            return unknown(why)
        if asked.value.__class__ is not bool:
            raise TraceError(_NO_OVERLOAD, why)
        try:
            chosen = (yes if asked.value else no)(frame)
        except TraceError as error:
            causes = join((error.causes, guard(why)))
            raise TraceError(error.message, causes) from None
        if _stands_for(why, chosen):
            return chosen._replace(path=why.path)  # type: ignore[union-attr]
        return chosen._replace(causes=join((chosen.causes, guard(why))))

    return run


def _stands_for(why: Causes, chosen: Datum) -> bool:
    """Return whether a value is the default of the field that a condition asked for."""
    default = chosen.path is None and not chosen.causes and chosen.members is None
    return default and isinstance(why, Read) and not why.presence and not chosen.value


def or_value(left: Step, right: Step) -> Step:
    """`left.orValue(right)`."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        optional = left(frame)
        value = optional.value
        if value is UNKNOWN:
            return optional
        if not isinstance(value, OptionalValue):
            raise TraceError(_NO_OVERLOAD, reads(optional))
        if value.present:
            return optional._replace(value=value.value)
        return _default(optional, right(frame))

    return run


def or_any_value(left: Step, right: Step) -> Step:
    """Kyverno's `left.orValue(right)`: a value that is no optional is taken as it is, and the other
    one must have a value in any case."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        optional, default = left(frame), right(frame)
        value = optional.value
        if not isinstance(value, OptionalValue):
            return optional
        if value.present:
            return optional._replace(value=value.value)
        return _default(optional, default)

    return run


def or_optional(left: Step, right: Step) -> Step:
    """`left.or(right)`."""

    def run(frame: TraceFrame) -> Datum:
        frame.cost += 1
        optional = left(frame)
        if optional.value is UNKNOWN:
            return optional
        if optional.value.__class__ is not OptionalValue:
            raise TraceError(_NO_OVERLOAD, reads(optional))
        if optional.value.present:
            return optional
        return _default(optional, right(frame))

    return run


def _default(absent: Datum, default: Datum) -> Datum:
    """Return a default with the provenance of the value that is absent."""
    if default.path is None and not default.causes and default.members is None:
        return default._replace(path=absent.path, causes=absent.causes)
    return default._replace(causes=join((default.causes, reads(absent))))


def membership(
    call: Callable[[TraceFrame, Datum, Datum], Datum], value: Step, members: Step
) -> Step:
    """`value in members`; call: the function."""

    def run(frame: TraceFrame) -> Datum:
        searched, container = value(frame), members(frame)
        result = call(frame, searched, container)
        key, held = searched.value, container.value
        if isinstance(held, dict) and isinstance(key, str) and container.path is not None:
            place = Read((*container.path, key), presence=result.value is True)
            why = join((container.causes, reads(searched)))
            return result._replace(causes=join((place, guard(why))))
        if result.value is True and isinstance(held, list):
            where = [each for each in elements(container) if same(each.value, key)]
            return result._replace(causes=join([*map(reads, where), reads(searched)]))
        return result

    return run
