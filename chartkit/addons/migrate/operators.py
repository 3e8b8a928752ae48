"""The operators of conditions in CEL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import MIXED, SPAN, TEXT, UNKNOWN, Place
from chartkit.addons.migrate.expressions.presence import fits, fits_any, fits_any_value
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction, is_name
from chartkit.addons.migrate.jmespath import Constant, Term, Value
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.conditions.comparison import SECOND, read_duration, seconds_of
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.go.duration import HOUR, MINUTE, duration_or_none, format_duration
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Json

_QUANTITY_START: Final = frozenset("+-.0123456789*?")


def equals(key: Term, value: Term) -> Expr:
    """Return whether a key equals a value; raises `NotConvertible`."""
    match key, value:
        case Value(place), Constant(wanted):
            return equals_constant(place, wanted)
        case Constant(wanted), Value(place):
            if isinstance(wanted, str) and not _is_plain(wanted):
                raise NotConvertible("a text with wildcards or a size is compared with a value")
            return equals_constant(place, wanted)
        case Value(left), Value(right):
            if left.type == TEXT and right.type in (TEXT, UNKNOWN):
                return _equal_texts(left, right.taken_for(TEXT))
            if left.type != right.type or left.type not in ("int", "bool"):
                raise NotConvertible("two values are compared whose texts may be wildcards")
            return cel.equal(left.value, right.value)
    raise NotConvertible("a list is compared with Equals")


def _equal_texts(left: Place, right: Place) -> Expr:
    """Return whether a text fits another, which may have wildcards."""
    if is_name(right):
        return cel.equal(left.value, right.value)
    return fits_any_value(left.value, right.value)


def natural(wanted: Json) -> str:
    """Return the type that a constant is compared with where nothing else is known."""
    if isinstance(wanted, bool):
        return "bool"
    if isinstance(wanted, int | float):
        return "int" if isinstance(wanted, int) else "double"
    if not isinstance(wanted, str) or (wanted and not _is_plain(wanted.replace("*", "a"))):
        raise NotConvertible(f"{wanted!r} is compared with a field of unknown type")
    return TEXT


def equals_constant(place: Place, wanted: Json) -> Expr:
    """Return whether a value is a constant, in which wildcards count."""
    if not place.is_known:
        place = place.taken_for(natural(wanted))
    value = place.value
    match wanted:
        case [] if place.is_list:
            return cel.equal(cel.method(value, "size"), 0)
        case bool():
            if place.type not in ("bool", UNKNOWN, MIXED):
                return cel.FALSE
            if place.type == "bool":
                return value if wanted else cel.negate(value)
            return cel.equal(value, wanted)
        case int() | float() if place.type in ("int", "double"):
            return cel.equal(value, float(wanted) if place.type == "double" else wanted)
        case str() if place.type == "int":
            if not wanted.lstrip("+-").isdigit():
                return cel.FALSE
            return cel.equal(value, int(wanted))
        case str() if place.type in (TEXT, UNKNOWN):
            return _equals_text(place, wanted)
    raise NotConvertible(f"a value is compared with {wanted!r}, which its type does not take")


def _equals_text(place: Place, wanted: str) -> Expr:
    value = place.value
    if place.among and not has_wildcard(wanted):
        return is_one_of(place, [wanted])
    if _is_plain(wanted) or not wanted:
        return cel.equal(value, wanted)
    if not has_wildcard(wanted):
        raise NotConvertible(f"the size or duration {wanted} is compared with a text")
    if place.type != TEXT:
        raise NotConvertible("a wildcard is compared with a value that may be no text")
    if wanted[0] in _QUANTITY_START:
        # A text that reads as a size fits no wildcard.
        return conjunction(fits(value, wanted), cel.negate(cel.call("isQuantity", value)))
    return fits(value, wanted)


def is_one_of(place: Place, texts: Sequence[str]) -> Expr:
    """Return whether a text is one of several; of those that it may be, without the others."""
    if not place.among or any(map(has_wildcard, texts)):
        return fits_any(place.value, texts)
    kept = [text for text in texts if text in place.among]
    return cel.TRUE if set(kept) == set(place.among) else fits_any(place.value, kept)


def _is_plain(text: str) -> bool:
    """Return whether a text is compared as it is: without wildcards, no size and no duration."""
    is_size = quantity_or_none(text) is not None or duration_or_none(text) is not None
    return not (has_wildcard(text) or is_size)


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
