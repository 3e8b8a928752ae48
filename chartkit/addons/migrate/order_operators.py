"""Operators that put values in order: numbers, sizes and durations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import SPAN, TEXT, Place
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.jmespath import Constant, Term, Value
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cluster_policy.conditions.comparison import (
    SECOND,
    read_duration,
    seconds_of,
)
from chartkit.go.duration import HOUR, MINUTE, duration_or_none, format_duration
from chartkit.model import Json

Test = Callable[[Term, Term], Expr]
"""The test of a condition's key and value."""


def whole_number(value: Json) -> int | None:
    """Return a whole number, or a text that is written as one; None for other values."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    is_number = isinstance(value, str) and value.lstrip("-").isdigit()
    return int(value) if is_number and str(int(value)) == value else None


def ordered(sign: str) -> Test:
    """Return the test of an operator that compares numbers, sizes or durations."""

    def test(key: Term, value: Term) -> Expr:
        match key, value:
            case Value(place), Constant(limit):
                return _ordered_constant(place, sign, limit)
            case Constant(limit), Value(place):
                return _ordered_constant(place, _MIRRORED[sign], limit)
            case Value(left), Value(right) if left.type == right.type and left.type in _ORDERED:
                return cel.compare(sign, left.value, right.value)
        raise NotConvertible("an order of values whose types are not known")

    return test


def _ordered_constant(place: Place, sign: str, limit: Json) -> Expr:
    number = limit if isinstance(limit, int | float) else whole_number(limit)
    if not place.is_known and number is not None:
        place = place.taken_for("int")
    if place.type == SPAN:
        return _spans(place, sign, limit, read_duration)
    if isinstance(limit, bool):
        raise NotConvertible("an order of booleans")
    if place.type == "int" and number is not None:
        left = cel.call("double", place.value) if isinstance(number, float) else place.value
        return cel.compare(sign, left, number)
    if place.type == "quantity" and isinstance(limit, str):
        size = cel.call("quantity", cel.call("string", place.value))
        return cel.compare(sign, cel.method(size, "compareTo", cel.call("quantity", limit)), 0)
    if place.type == "double" and number is not None:
        return cel.compare(sign, place.value, float(number))
    if place.type == "quantity" and number is not None:
        text = cel.call("string", place.value)
        is_number = cel.method(text, "matches", r"^[-+]?[0-9]+(\.[0-9]+)?$")
        return conjunction(is_number, cel.compare(sign, cel.call("double", text), float(number)))
    if place.type == TEXT and isinstance(limit, str) and read_duration(limit) is not None:
        text = place.value
        # Whether a text is a duration, or a number of seconds, in order with another.
        seconds = (read_duration(limit) or 0) / SECOND
        longer = cel.compare(sign, cel.call("duration", text), cel.call("duration", limit))
        counted = cel.compare(sign, cel.call("double", text), seconds)
        return disjunction(
            conjunction(cel.method(text, "matches", _DURATION), longer),
            conjunction(cel.method(text, "matches", _NUMBER), counted),
        )
    raise NotConvertible("an order of values whose types are not known")


def durations(sign: str) -> Test:
    """Return the test of an operator that compares durations, numbers as whole seconds."""

    def test(key: Term, value: Term) -> Expr:
        match key, value:
            case Value(place), Constant(limit):
                return _ordered_duration(place, sign, limit)
            case Constant(limit), Value(place):
                return _ordered_duration(place, _MIRRORED[sign], limit)
            case Value(left), Value(right) if left.type == right.type == SPAN:
                return cel.compare(sign, left.value, right.value)
        raise NotConvertible("an order of durations that are computed")

    return test


def _spans(place: Place, sign: str, limit: Json, read: Callable[[Json], int | None]) -> Expr:
    """Return whether a span between times is in order with a duration or a number of seconds."""
    against = read(limit) if isinstance(limit, str) else seconds_of(limit)
    if against is None:
        return cel.FALSE
    return cel.compare(sign, place.value, cel.call("duration", _written(against)))


def _written(nanoseconds: int) -> str:
    """Return a duration as a text: in hours, minutes or seconds where it is whole."""
    for unit, name in ((HOUR, "h"), (MINUTE, "m"), (SECOND, "s")):
        if nanoseconds % unit == 0:
            return f"{nanoseconds // unit}{name}"
    return format_duration(nanoseconds)


def _ordered_duration(place: Place, sign: str, limit: Json) -> Expr:
    if place.type == SPAN:
        return _spans(place, sign, limit, _any_duration)
    is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
    against = duration_or_none(limit) if isinstance(limit, str) else None
    if is_number:
        against = seconds_of(limit)
    if against is None:
        return cel.FALSE
    if not place.is_known:
        place = place.taken_for("int" if is_number else TEXT)
    if place.type == "int" and against % SECOND == 0:
        return cel.compare(sign, place.value, against // SECOND)
    if place.type == TEXT:
        text = f"{against // SECOND}s" if against % SECOND == 0 else format_duration(against)
        longer = cel.compare(sign, cel.call("duration", place.value), cel.call("duration", text))
        return conjunction(cel.method(place.value, "matches", _DURATION), longer)
    raise NotConvertible("an order of durations whose types are not known")


def _any_duration(limit: Json) -> int | None:
    return duration_or_none(limit) if isinstance(limit, str) else None


_ORDERED: Final = ("int", SPAN)
_PART: Final = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_DURATION: Final = f"^[-+]?({_PART}(ns|us|µs|μs|ms|s|m|h))+$"
_NUMBER: Final = f"^[-+]?{_PART}$"
_MIRRORED: Final = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
