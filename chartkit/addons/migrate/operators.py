"""The operators of conditions in CEL."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.build import Operand
from chartkit.addons.migrate.expressions.place import (
    EVERYTHING,
    INT_OR_TEXT,
    QUANTITY,
    SIZE,
    SPAN,
    TEXT,
    UNKNOWN,
    Place,
    takes_everything,
)
from chartkit.addons.migrate.expressions.presence import (
    fits,
    fits_any,
    fits_any_value,
    fits_value,
    path_of,
)
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction, is_name
from chartkit.addons.migrate.jmespath import Constant, Stream, Term, Value
from chartkit.addons.migrate.jmespath.terms import double_of, expression_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Binary, Call, Ident, ListLiteral, Literal, count
from chartkit.engine.cluster_policy.conditions.operators import (
    read_duration,
    read_float,
    seconds_of,
)
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.go.duration import HOUR, MINUTE, SECOND, duration_or_none, format_duration
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Json, leaves

_LABELS: Final = "metadata.labels."
_QUANTITY_START: Final = frozenset("+-.0123456789*?")


def equals(key: Term, value: Term) -> Expr:
    """Report whether a key equals a value; raises `NotConvertible`."""
    match key, value:
        case Value(place), Constant(wanted):
            return equals_constant(place, wanted)
        case Stream(), Constant(list() as wanted):
            some = key.exists(lambda _item: cel.TRUE)
            return cel.equal(key.list(), _literal(wanted)) if wanted else cel.negate(some)
        case Stream(), Constant():
            return cel.FALSE
        case Constant(str() as wanted), Value(place) if has_wildcard(wanted):
            # The wildcards that count are those of the value.
            return cel.equal(place.taken_for(TEXT).value, wanted)
        case Constant(wanted), Value(place):
            if isinstance(wanted, str) and not _is_plain(wanted):
                raise NotConvertible("a text with wildcards or a size is compared with a value")
            return equals_constant(place, wanted)
        case Value(left), Value(right):
            if {left.type, right.type} in ({TEXT}, {TEXT, UNKNOWN}):
                text, pattern = left.taken_for(TEXT).value, right.taken_for(TEXT)
                fitting = fits_value if is_name(pattern) else fits_any_value
                return fitting(text, pattern.value)
            if left.type == right.type == UNKNOWN and left.path and right.path:
                return cel.equal(left.taken_for(TEXT).value, right.taken_for(TEXT).value)
            if {left.type, right.type} <= {QUANTITY, SIZE}:
                return cel.equal(_compared_sizes(left, as_size(right)), 0)
            if left.type == QUANTITY and right.type == TEXT:
                same = cel.equal(_compared_sizes(left, cel.call("quantity", right.value)), 0)
                return conjunction(cel.call("isQuantity", right.value), same)
            alike = left.type == right.type and left.type in ("int", "double", "bool")
            if alike or (left.is_list and right.is_list) or (left.is_map and right.is_map):
                return cel.equal(left.value, right.value)
            raise NotConvertible("two values are compared whose texts may be wildcards")
    raise NotConvertible("a list is compared with Equals")


def as_text(place: Place) -> Expr:
    """Return the text of a size, or of a number or a text."""
    return cel.call("string", place.value)


def as_size(place: Place) -> Expr:
    """Return a size that a field has as a number or as a text, or that is computed."""
    return place.value if place.type == SIZE else cel.call("quantity", as_text(place))


def _compared_sizes(place: Place, other: Expr) -> Expr:
    return cel.method(as_size(place), "compareTo", other)


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
    """Report whether a value is a constant, in which wildcards count."""
    if not place.is_known:
        place = place.taken_for(natural(wanted))
    if place.is_list or place.is_map:
        if wanted == []:
            return cel.equal(cel.method(place.value, "size"), 0) if place.is_list else cel.FALSE
        alike = list if place.is_list else dict
        return cel.equal(place.value, _literal(wanted)) if isinstance(wanted, alike) else cel.FALSE
    match wanted:
        case list() | dict() | None:
            return cel.FALSE
        case bool():
            if place.type not in ("bool", UNKNOWN):
                return cel.FALSE
            if place.type == UNKNOWN:
                return cel.equal(place.value, wanted)
            return place.value if wanted else cel.negate(place.value)
        case _ if place.type == "bool":
            return cel.FALSE
        case int() | float():
            if place.type == TEXT:
                seconds = cel.call("duration", written_duration(seconds_of(wanted) or 0))
                return as_duration(place.value, lambda given: cel.equal(given, seconds))
            if place.type in ("int", "double") or (
                place.type == INT_OR_TEXT and isinstance(wanted, int)
            ):
                return cel.equal(place.value, float(wanted) if place.type == "double" else wanted)
            raise _mismatch(wanted)
        case str() if place.type in (TEXT, UNKNOWN):
            return _equals_text(place, wanted)
    return _text_of_number(place, str(wanted))


def _text_of_number(place: Place, wanted: str) -> Expr:
    """Report whether a number, a size, or what is a number or a text, equals a text."""
    if place.type in ("int", "double"):
        number = read_float(wanted)
        if number is None or (place.type == "int" and not wanted.lstrip("+-").isdigit()):
            return cel.FALSE
        return cel.equal(place.value, number if place.type == "double" else int(wanted))
    if place.type in (QUANTITY, SIZE):
        # A size is not a string, and fits no wildcard.
        if quantity_or_none(wanted) is None:
            return cel.FALSE
        return cel.equal(_compared_sizes(place, cel.call("quantity", wanted)), 0)
    if place.type == INT_OR_TEXT and whole_number(wanted) is not None:
        return cel.contains(
            cel.list_of(cel.call("dyn", value) for value in (int(wanted), wanted)), place.value
        )
    if place.type == INT_OR_TEXT and (_is_plain(wanted) or not wanted):
        return cel.equal(place.value, wanted) if wanted else cel.FALSE
    raise _mismatch(wanted)


def _mismatch(wanted: Json) -> NotConvertible:
    return NotConvertible(f"a value is compared with {wanted!r}, which its type does not take")


def _literal(wanted: Json) -> Expr:
    """Return a list or an object that a value is compared with; raises `NotConvertible`."""
    if any(type(member) in (int, float) for _, member in leaves(wanted)):
        raise NotConvertible("a list or an object with numbers is compared")
    return expression_of(Constant(wanted))


def _equals_text(place: Place, wanted: str) -> Expr:
    value = place.value
    if place.among and not has_wildcard(wanted):
        return is_one_of(place, [wanted])
    if _is_plain(wanted) or not wanted:
        return cel.equal(value, wanted)
    if not has_wildcard(wanted):
        # Whether a text is written as a size or a duration that equals another.
        match value:
            case Call("string", None) if str(whole_number(wanted)) == wanted:
                # There is one way to print a number.
                return cel.equal(value, wanted)
        tests = []
        if read_duration(wanted) is not None:
            span = cel.call("duration", wanted)
            tests.append(as_duration(value, lambda given: cel.equal(given, span)))
        if quantity_or_none(wanted) is not None:
            amount = cel.method(
                cel.call("quantity", value), "compareTo", cel.call("quantity", wanted)
            )
            tests.append(conjunction(cel.call("isQuantity", value), cel.equal(amount, 0)))
        return disjunction(*tests)
    if place.type != TEXT:
        raise NotConvertible("a wildcard is compared with a value that might not be a string")
    if wanted[0] in _QUANTITY_START:
        # A text that reads as a size fits no wildcard.
        return conjunction(fits(value, wanted), cel.negate(cel.call("isQuantity", value)))
    return fits(value, wanted)


def as_duration(text: Expr, test: Callable[[Expr], Expr], form: str = "") -> Expr:
    """Report whether a text is a duration that meets a test; form: of durations, those without `0`
    unless it is given."""
    is_duration = cel.method(text, "matches", form or _DURATION)
    return conjunction(is_duration, test(cel.call("duration", text)))


def is_one_of(place: Place, texts: Sequence[str]) -> Expr:
    """Report whether a text is one of several; of those that it may be, without the others."""
    if not place.among or any(map(has_wildcard, texts)):
        return fits_any(place.value, texts)
    kept = [text for text in texts if text in place.among]
    return cel.TRUE if set(kept) == set(place.among) else fits_any(place.value, kept)


def or_everything(place: Place, test: Expr) -> Expr:
    """Return a test that a `*` of a role meets, too, which conditions take for a pattern."""
    if not takes_everything(place.path):
        return test
    match test:
        case Binary("in", value, ListLiteral(texts)):
            return Binary("in", value, ListLiteral((*texts, Literal(EVERYTHING))))
        case Binary("==", value, Literal() as text):
            return cel.contains(ListLiteral((text, Literal(EVERYTHING))), value)
    return disjunction(test, cel.equal(place.value, EVERYTHING))


def _is_plain(text: str) -> bool:
    """Report whether a text is compared as it is: without wildcards, no size and no duration."""
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
            case Value(left), Value(right) if left.type in _ORDERED and right.type in (
                left.type,
                UNKNOWN,
            ):
                return cel.compare(sign, left.value, right.taken_for(left.type).value)
            case Value(left), Value(right) if {left.type, right.type} == {"int", "double"}:
                return cel.compare(sign, double_of(key), double_of(value))
            case Value(left), Value(right) if left.type == UNKNOWN and right.type in _ORDERED:
                return cel.compare(sign, left.taken_for(right.type).value, right.value)
            case Value(left), Value(right) if {left.type, right.type} <= {QUANTITY, SIZE}:
                return cel.compare(sign, _compared_sizes(left, as_size(right)), 0)
            case Value(left), Value(right) if left.type == right.type == TEXT:
                return _ordered_texts(left.value, sign, right.value)
            case Value(left), Value(right) if right.type == TEXT:
                return _ordered_by_text(left, sign, right.value)
            case Value(left), Value(right) if left.type == TEXT:
                return _ordered_by_text(right, _MIRRORED[sign], left.value)
            case Value(left), Value(right) if left.type == INT_OR_TEXT:
                return _ordered_by_text(right, _MIRRORED[sign], as_text(left))
            case Value(left), Value(right) if right.type == INT_OR_TEXT:
                return _ordered_by_text(left, sign, as_text(right))
        raise NotConvertible("an order of values whose types are not known")

    return test


def _ordered_constant(place: Place, sign: str, limit: Json) -> Expr:
    number = limit if isinstance(limit, int | float) else whole_number(limit)
    if not place.is_known and number is not None:
        place = place.taken_for("int")
    if not place.is_known and place.path and isinstance(limit, str):
        place = place.taken_for(TEXT)
    if place.type == SPAN:
        return _spans(place, sign, limit, read_duration)
    if isinstance(limit, bool) or place.type == "bool":
        return cel.FALSE
    if place.type == "int" and number is not None:
        left = cel.call("double", place.value) if isinstance(number, float) else place.value
        return cel.compare(sign, left, number)
    if place.type in (QUANTITY, SIZE) and isinstance(limit, str):
        if quantity_or_none(limit) is None:
            if read_duration(limit) is not None:
                raise NotConvertible("an order of a size and a duration")
            return cel.FALSE
        return cel.compare(sign, _compared_sizes(place, cel.call("quantity", limit)), 0)
    is_text = isinstance(limit, str) and read_duration(limit) is None
    if place.type in ("int", "double") and is_text and read_float(limit) is None:
        # A number is in no order with what reads as none, such as a size.
        return cel.FALSE
    if place.type == "double" and number is not None:
        return cel.compare(sign, place.value, float(number))
    if place.type in (QUANTITY, INT_OR_TEXT) and number is not None:
        # A size such as 500m is a duration, too, which is in order with a number of seconds.
        return _ordered_text(as_text(place), sign, number)
    if place.type == TEXT:
        return _ordered_text(place.value, sign, limit)
    raise NotConvertible("an order of values whose types are not known")


def _ordered_by_text(place: Place, sign: str, text: Expr) -> Expr:
    """Report whether a number or a size is in order with a text that may be one."""
    if place.type == QUANTITY:
        compared = _compared_sizes(place, cel.call("quantity", text))
        return conjunction(cel.call("isQuantity", text), cel.compare(sign, compared, 0))
    if place.type not in ("int", "double"):
        raise NotConvertible("an order of values whose types are not known")
    counted = cel.compare(sign, cel.call("double", place.value), cel.call("double", text))
    is_number = cel.method(text, "matches", _NUMBER)
    if place.type == "double":
        return conjunction(is_number, counted)
    seconds = cel.call("duration", cel.concat(as_text(place), "s"))
    test = disjunction(
        conjunction(is_number, counted),
        as_duration(text, lambda given: cel.compare(sign, seconds, given)),
    )
    if not count(place.value, Ident("variables")):
        return test
    # A variable that fails is an error whatever the text is.
    return cel.conditional(cel.equal(place.value, place.value), test, cel.FALSE)


def _ordered_texts(key: Expr, sign: str, value: Expr) -> Expr:
    """Report whether two texts are in order, as durations, sizes, a number of seconds and a
    duration, or versions."""

    def both(test: Callable[[Expr], Expr], read: str) -> tuple[Expr, Expr]:
        sides = [cel.call(read, side) for side in (key, value)]
        ordered_ = (
            cel.compare(sign, *sides)
            if read == "duration"
            else cel.compare(sign, cel.method(sides[0], "compareTo", sides[1]), 0)
        )
        return conjunction(test(key), test(value)), ordered_

    def lasts(text: Expr) -> Expr:
        return cel.method(text, "matches", _DURATION)

    are_durations, lasting = both(lasts, "duration")
    are_sizes, sized = both(lambda text: cel.call("isQuantity", text), "quantity")
    are_versions, versioned = both(lambda text: cel.call("isSemver", text), "semver")
    seconds = cel.call("duration", cel.concat(key, "s"))
    counted = conjunction(
        cel.method(key, "matches", "^[-+]?[0-9]+$"),
        as_duration(value, lambda given: cel.compare(sign, seconds, given)),
    )
    others = disjunction(
        conjunction(are_sizes, sized), counted, conjunction(are_versions, versioned)
    )
    return cel.conditional(are_durations, lasting, others)


def _ordered_text(text: Expr, sign: str, limit: Json) -> Expr:
    """Report whether a text that is a duration, a number of seconds or a size is in order with a
    limit."""
    is_number = isinstance(limit, int | float)
    nanoseconds = seconds_of(limit) if is_number else read_duration(limit)
    if nanoseconds is not None:
        span = cel.call("duration", written_duration(nanoseconds) if is_number else limit)
        number = float(limit) if is_number else nanoseconds / SECOND
        counted = cel.compare(sign, cel.call("double", text), number)
        return disjunction(
            as_duration(text, lambda given: cel.compare(sign, given, span)),
            conjunction(cel.method(text, "matches", _NUMBER), counted),
        )
    if isinstance(limit, str) and quantity_or_none(limit) is not None:
        amount = cel.method(cel.call("quantity", text), "compareTo", cel.call("quantity", limit))
        return conjunction(cel.call("isQuantity", text), cel.compare(sign, amount, 0))
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


def _spans(place: Place, sign: str, limit: Json, read: Callable[[str], int | None]) -> Expr:
    """Report whether a span between times is in order with a duration or a number of seconds: by
    the times, since a span of three hundred years is an error."""
    against = read(limit) if isinstance(limit, str) else seconds_of(limit)
    if against is None:
        return cel.FALSE
    span = cel.call("duration", written_duration(against))
    match place.value:
        case Binary("-", until, start):
            earliest = cel.compare("-", until, span) if against else until
            return cel.compare(_MIRRORED[sign], start, earliest)
    return cel.compare(sign, place.value, span)


def written_duration(nanoseconds: int) -> str:
    """Return a duration as a text: in hours, minutes or seconds where it is whole."""
    for unit, name in ((HOUR, "h"), (MINUTE, "m"), (SECOND, "s")):
        if nanoseconds % unit == 0:
            return f"{nanoseconds // unit}{name}"
    return format_duration(nanoseconds)


def _ordered_duration(place: Place, sign: str, limit: Json) -> Expr:
    if place.type == SPAN:
        return _spans(place, sign, limit, duration_or_none)
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
        limit = cel.call("duration", text)
        return as_duration(
            place.value, lambda given: cel.compare(sign, given, limit), DURATION_OR_ZERO
        )
    raise NotConvertible("an order of durations whose types are not known")


_ORDERED: Final = ("int", "double", SPAN)
_PART: Final = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_DURATION: Final = f"^[-+]?({_PART}(ns|us|µs|μs|ms|s|m|h))+$"
DURATION_OR_ZERO: Final = f"^[-+]?(0|({_PART}(ns|us|µs|μs|ms|s|m|h))+)$"
_NUMBER: Final = f"^[-+]?{_PART}$"
_MIRRORED: Final = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def in_text(place: Place, wanted: Operand) -> Expr:
    """Report whether a value is a text, or in it where the text is a list in JSON."""
    is_of_request = (path_of(place.value) or ())[:1] == ("request",)
    if is_name(place) or place.path.startswith(_LABELS) or is_of_request:
        return cel.equal(wanted, place.value)
    listed = cel.method(cel.ident("json"), "unmarshal", place.value)
    is_list = cel.method(place.value, "startsWith", "[")
    among = conjunction(is_list, cel.contains(listed, wanted))
    return disjunction(cel.equal(wanted, place.value), among)


def listed_in(text: str) -> list[Json]:
    """Return the values of a text: those of a list in JSON, or itself."""
    if text.startswith("["):
        with suppress(ValueError):
            values: list[Json] = json.loads(text)
            if all(isinstance(value, str) and not has_wildcard(value) for value in values):
                return values
    if text.startswith(("[", '"')) or text in ("null", "true", "false") or text.isdigit():
        raise NotConvertible(f"the text {text} is read as JSON")
    return [text]
