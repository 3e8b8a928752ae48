"""Values read as numbers, durations and texts, for all operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from chartkit.engine.cluster_policy.pattern.scalar import go_number, is_number, number_equals
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.go.duration import SECOND, duration_or_none, in_seconds
from chartkit.go.fmt import go_sprint
from chartkit.go.quantity import quantity_or_none
from chartkit.go.strconv import (
    Int64,
    as_float,
    as_floats,
    or_none,
    parse_float,
    truncate_to_int64,
    wrapped,
)
from chartkit.model import Json

Compare = Callable[[Json], bool]
Prepare = Callable[[Json], Compare]


def never(_: Json) -> bool:
    """The comparison with a value of a type that the operator does not take."""
    return False


def sprint(value: Json) -> str:
    """The value as Go's `fmt.Sprint` writes it, numbers being float64 unless marked."""
    return value if isinstance(value, str) else go_sprint(as_floats(value))


def read_duration(value: Json) -> int | None:
    """A text as a duration in nanoseconds; "0", which any number might be, is none."""
    if not isinstance(value, str) or value == "0":
        return None
    return duration_or_none(value)


read_float = or_none(parse_float)


def pair_durations(key: Json, value: Json) -> tuple[float, float] | None:
    """Key and value in seconds, where one is a duration and the other a duration or a number."""
    left, right = read_duration(key), read_duration(value)
    if left is None and right is None:
        return None
    if left is None:
        left = seconds_of(key)
    if right is None:
        right = seconds_of(value)
    if left is None or right is None:
        return None
    return in_seconds(left), in_seconds(right)


def seconds_of(value: Json) -> int | None:
    """A number of whole seconds (a fraction is cut off) in nanoseconds; None for other types."""
    if not is_number(value):
        return None
    whole = value if isinstance(value, Int64) else truncate_to_int64(as_float(value))
    return wrapped(whole * SECOND)


def equals(value: Json) -> Compare:
    """Report whether a key equals the value; null and unknown types never do."""
    compare_text = _text_with(value)

    def compare(key: Json) -> bool:
        if isinstance(key, str):
            return compare_text(key)
        return key is not None and _other_equals(key, value)

    return compare


def not_equals(value: Json) -> Compare:
    """Report whether a key differs from the value; a null key does not."""
    same = equals(value)

    def compare(key: Json) -> bool:
        return key is not None and not same(key)

    return compare


def _text_with(value: Json) -> Compare:
    if isinstance(value, str):
        return _text_with_text(value)
    seconds = seconds_of(value)
    if seconds is None:
        return never
    against = in_seconds(seconds)

    def compare(key: Json) -> bool:
        duration = read_duration(key)
        return duration is not None and in_seconds(duration) == against

    return compare


def _text_with_text(value: str) -> Compare:
    matches = compile_wildcard(value)
    against = read_duration(value)
    quantity = quantity_or_none(value)

    def compare(key: Json) -> bool:
        if against is not None:
            duration = read_duration(key)
            if duration is not None:
                return in_seconds(duration) == in_seconds(against)
        if key == value:
            return True
        if key[:1] in _QUANTITY_START:
            amount = quantity_or_none(key)
            if amount is not None:
                # The empty text is not a quantity and matches nothing but itself.
                return quantity is not None and amount == quantity
        return matches(key)

    return compare


_QUANTITY_START = frozenset("+-.0123456789")


def _other_equals(key: Json, value: Json) -> bool:
    if isinstance(key, bool):
        return isinstance(value, bool) and key == value
    if is_number(key):
        return number_equals(go_number(key), value)
    if isinstance(key, dict):
        return isinstance(value, dict) and _deep_equal(key, value)
    return isinstance(value, list) and _deep_equal(key, value)


def _deep_equal(left: Json, right: Json) -> bool:
    """Go's reflect.DeepEqual: an int64 and a float64 are never equal."""
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(_deep_equal(member, right[key]) for key, member in left.items())
        )
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(map(_deep_equal, left, right))
        )
    if is_number(left) and is_number(right):
        if isinstance(left, Int64) or isinstance(right, Int64):
            return isinstance(left, Int64) and isinstance(right, Int64) and left == right
        return as_float(left) == as_float(right)
    return left.__class__ is right.__class__ and bool(left == right)


Holds = Callable[[Any, Any], bool]

_SIGNS: dict[str, Holds] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def compare_numbers(sign: str) -> Prepare:
    """Orders durations, then quantities, then numbers, then versions, by what the key reads as."""
    holds = _SIGNS[sign]

    def prepare(value: Json) -> Compare:
        def compare(key: Json) -> bool:
            if isinstance(key, str):
                if durations := pair_durations(key, value):
                    return holds(*durations)
                if isinstance(value, str):
                    left, right = quantity_or_none(key), quantity_or_none(value)
                    if left is not None and right is not None:
                        return holds(left, right)
                number = read_float(key)
                if number is not None:
                    return _number_holds(number, value, holds)
                return isinstance(value, str) and _versions_hold(key, value, holds)
            return is_number(key) and _number_holds(key, value, holds)

        return compare

    return prepare


def compare_durations(sign: str) -> Prepare:
    """Orders durations; a number is one of whole seconds, its fraction cut off."""
    holds = _SIGNS[sign]

    def prepare(value: Json) -> Compare:
        against = _duration(value)

        def compare(key: Json) -> bool:
            duration = _duration(key)
            return duration is not None and against is not None and holds(duration, against)

        return compare

    return prepare


def _duration(value: Json) -> int | None:
    return duration_or_none(value) if isinstance(value, str) else seconds_of(value)


def _number_holds(key: float, value: Json, holds: Holds) -> bool:
    if is_number(value):
        return holds(as_float(key), as_float(value))
    if not isinstance(value, str):
        return False
    if durations := pair_durations(key, value):
        return holds(*durations)
    number = read_float(value)
    return number is not None and holds(as_float(key), number)


def _versions_hold(key: str, value: str, holds: Holds) -> bool:
    from semver import Version

    try:
        return holds(Version.parse(key), Version.parse(value))
    except ValueError:
        return False
