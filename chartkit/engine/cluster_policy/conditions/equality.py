"""Equals and NotEquals: the key's type decides how the value is read.

A text key is compared as a duration, then as a quantity, then with the value as a wildcard; a
number takes a text value that reads as one, but a text key never takes a number.
"""

from __future__ import annotations

from chartkit.engine.cluster_policy.conditions.comparison import (
    Compare,
    in_seconds,
    is_number,
    never,
    read_duration,
    read_float,
    read_int,
    read_quantity,
    seconds_of,
)
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.go.int64 import Int64, as_float
from chartkit.go.strconv import truncate_to_int64
from chartkit.model import Json


def equals(value: Json) -> Compare:
    """Return whether a key equals the value; null and unknown types never do."""
    compare_text = _text_with(value)

    def compare(key: Json) -> bool:
        if isinstance(key, str):
            return compare_text(key)
        return key is not None and _other_equals(key, value)

    return compare


def not_equals(value: Json) -> Compare:
    """Return whether a key differs from the value; a null key does not."""
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
    quantity = read_quantity(value)

    def compare(key: Json) -> bool:
        if against is not None:
            duration = read_duration(key)
            if duration is not None:
                return in_seconds(duration) == in_seconds(against)
        if key == value:
            return True
        if key[:1] in _QUANTITY_START:
            amount = read_quantity(key)
            if amount is not None:
                # The empty text is no quantity and matches nothing but itself.
                return quantity is not None and amount == quantity
        return matches(key)

    return compare


_QUANTITY_START = frozenset("+-.0123456789")


def _other_equals(key: Json, value: Json) -> bool:
    if isinstance(key, bool):
        return isinstance(value, bool) and key == value
    if isinstance(key, Int64):
        return _int_equals(key, value)
    if is_number(key):
        return _float_equals(as_float(key), value)
    if isinstance(key, dict):
        return isinstance(value, dict) and _deep_equal(key, value)
    return isinstance(value, list) and _deep_equal(key, value)


def _float_equals(key: float, value: Json) -> bool:
    if isinstance(value, Int64):
        return key.is_integer() and truncate_to_int64(key) == value
    if is_number(value):
        return key == as_float(value)
    return isinstance(value, str) and read_float(value) == key


def _int_equals(key: int, value: Json) -> bool:
    if isinstance(value, Int64):
        return key == value
    if is_number(value):
        number = as_float(value)
        return number.is_integer() and truncate_to_int64(number) == key
    return isinstance(value, str) and read_int(value) == key


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
    return type(left) is type(right) and bool(left == right)
