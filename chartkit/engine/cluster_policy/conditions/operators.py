"""The operators of conditions: equality, order and durations, and keys among values (AnyIn, AllIn,
AnyNotIn and AllNotIn), as texts, wildcards on both sides.

Members are compared as the text that Go prints of them. A value that is a text may be a wildcard,
a range (`1-10`), a JSON list of strings, or the one member; a value of a type that the operator
does not take makes it false, negated or not.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from typing import Any

from chartkit.engine.cluster_policy.pattern.match import compile_pattern
from chartkit.engine.cluster_policy.pattern.scalar import (
    Range,
    go_number,
    is_number,
    number_equals,
    read_operation,
)
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.errors import EvaluationError
from chartkit.go.duration import SECOND, duration_or_none, in_seconds
from chartkit.go.fmt import go_sprint, go_type
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
        if key is None:
            return False
        if isinstance(key, bool):
            return isinstance(value, bool) and key == value
        if is_number(key):
            return number_equals(go_number(key), value)
        if isinstance(key, dict):
            return isinstance(value, dict) and _deep_equal(key, value)
        return isinstance(value, list) and _deep_equal(key, value)

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
    """Prepare a comparison of durations, quantities, numbers or versions, tried in this order."""
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


Contains = Callable[[str], bool]
Decide = Callable[[Sequence[str], Contains], bool]


def any_in(value: Json) -> Compare:
    """Report whether any key is among the values."""
    return _compare(_scalar(value), _keys(value, _any_in, _any_in, takes_scalar=True))


def all_in(value: Json) -> Compare:
    """Report whether all keys are among the values."""
    return _compare(_scalar(value), _keys(value, _all_in, _all_in, takes_scalar=False))


def any_not_in(value: Json) -> Compare:
    """Report whether any key is not among the values."""
    keys = _keys(
        value, lambda *given: not _all_in(*given), _any_in, takes_scalar=True, negated=True
    )
    return _compare(_scalar(value, negated=True), keys)


def all_not_in(value: Json) -> Compare:
    """Report whether no key is among the values."""
    keys = _keys(value, _none_in, _none_in, takes_scalar=False, negated=True)
    return _compare(_scalar(value, negated=True), keys)


def members(texts: Sequence[str]) -> Contains:
    """Report whether a text matches one of the members, or one of them matches it as a wildcard."""
    exact = frozenset(texts)
    wild = [compile_wildcard(text) for text in texts if has_wildcard(text)]

    def contains(key: str) -> bool:
        if key in exact or any(matches(key) for matches in wild):
            return True
        return has_wildcard(key) and any(map(compile_wildcard(key), texts))

    return contains


def _any_in(keys: Sequence[str], contains: Contains) -> bool:
    return any(map(contains, keys))


def _all_in(keys: Sequence[str], contains: Contains) -> bool:
    return all(map(contains, keys))


def _none_in(keys: Sequence[str], contains: Contains) -> bool:
    return not any(map(contains, keys))


def _compare(scalar: Contains | None, keys: Callable[[list[str]], bool] | None) -> Compare:
    if scalar is None and keys is None:
        return never

    def compare(key: Json) -> bool:
        if isinstance(key, str):
            return scalar is not None and scalar(key)
        if isinstance(key, list):
            return keys is not None and keys([sprint(member) for member in key])
        if key is None or isinstance(key, dict):
            return False
        return scalar is not None and scalar(sprint(key))

    return compare


def _scalar(value: Json, *, negated: bool = False) -> Contains | None:
    if isinstance(value, list):
        contains = members([sprint(member) for member in value])
        return (lambda key: not contains(key)) if negated else contains
    if not isinstance(value, str):
        return None
    matches = compile_wildcard(value)
    if is_range(value):
        among: Contains | None = _in_range(value)
    else:
        texts = string_list(value)
        among = None if texts is None else frozenset(texts).__contains__
    if among is None:
        # JSON that is not a list of strings is false, whichever way it is asked.
        return None if negated else matches
    if negated:
        return lambda key: not (matches(key) or among(key))
    return lambda key: matches(key) or among(key)


def _keys(
    value: Json, decide: Decide, decide_range: Decide, *, takes_scalar: bool, negated: bool = False
) -> Callable[[list[str]], bool] | None:
    if isinstance(value, str):
        decide_rest = _decide_text(value, decide, decide_range, negated)
        return lambda keys: not negated if keys == [value] else decide_rest(keys)
    if isinstance(value, list):
        contains = members([sprint(member) for member in value])
    elif takes_scalar and value is not None and not isinstance(value, dict):
        contains = members([sprint(value)])
    else:
        return None
    return lambda keys: decide(keys, contains)


def _decide_text(
    value: str, decide: Decide, decide_range: Decide, negated: bool
) -> Callable[[list[str]], bool]:
    if is_range(value):
        outside = negated and decide_range is _any_in
        inside = _in_range(value.replace("-", "!-", 1) if outside else value)
        return lambda keys: decide_range(keys, inside)
    listed = string_list(value)
    if listed is None:
        return never
    contains = members(listed)
    return lambda keys: decide(keys, contains)


def is_range(text: str) -> bool:
    """Report whether a text is a range `low-high`, without another operator of patterns."""
    operation = read_operation(text)
    return isinstance(operation, Range) and not operation.excludes


def _in_range(text: str) -> Contains:
    pattern = compile_pattern(text)
    return lambda key: pattern.check(key) is None


def string_list(text: str) -> list[str] | None:
    """The members of a JSON list of strings; None for other JSON. Text that is not JSON is one
    string."""
    try:
        decoded = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return [text]
    return decoded_strings(decoded)


def _refuse(constant: str) -> Json:
    raise ValueError(constant)


def decoded_strings(decoded: Json) -> list[str] | None:
    """A list of strings as Go decodes it: null is empty, a null member is an empty string."""
    if decoded is None:
        return []
    if not isinstance(decoded, list):
        return None
    if not all(member is None or isinstance(member, str) for member in decoded):
        return None
    return [member or "" for member in decoded]


def is_in(value: Json) -> Compare:
    """Report whether the key, or every key of a list, is among the values."""
    keys = _keys_old(value, lambda keys, among: all(key in among for key in keys))
    return _compare_old(_scalar_old(value), keys)


def is_not_in(value: Json) -> Compare:
    """Report whether the key, or any key of a list, is not among the values."""
    # Such a text is not a list to Kyverno, so that NotIn is false like In, match or no match.
    is_unlisted = isinstance(value, str) and _string_list(value) is None
    exists = None if is_unlisted else _scalar_old(value)
    keys = _keys_old(value, lambda keys, among: any(key not in among for key in keys))
    return _compare_old(None if exists is None else (lambda key: not exists(key)), keys)


def _compare_old(
    scalar: Callable[[str], bool] | None, keys: Callable[[list[str]], bool]
) -> Compare:
    def compare(key: Json) -> bool:
        if isinstance(key, list):
            for member in key:
                if not isinstance(member, str):
                    held = "nil" if member is None else go_type(member)
                    raise EvaluationError(
                        f"interface conversion: interface {{}} is {held}, not string"
                    )
            return keys(key)
        if scalar is None or key is None or isinstance(key, dict):
            return False
        return scalar(sprint(key))

    return compare


def _scalar_old(value: Json) -> Callable[[str], bool] | None:
    if isinstance(value, list):
        return members([sprint(member) for member in value])
    if not isinstance(value, str):
        return None
    matches = compile_wildcard(value)
    listed = frozenset(_string_list(value) or ())
    return lambda key: matches(key) or key in listed


def _keys_old(
    value: Json, decide: Callable[[list[str], frozenset[str]], bool]
) -> Callable[[list[str]], bool]:
    text = value if isinstance(value, str) else None
    if isinstance(value, str):
        listed = _string_list(value)
    elif isinstance(value, list) and all(isinstance(member, str) for member in value):
        listed = value
    else:
        listed = None
    among = None if listed is None else frozenset(listed)

    def compare(keys: list[str]) -> bool:
        # Kyverno answers true here even where it is asked for NotIn.
        if text is not None and len(keys) == 1 and keys[0] == text:
            return True
        return among is not None and decide(keys, among)

    return compare


def _string_list(text: str) -> list[str] | None:
    try:
        return decoded_strings(json.loads(text))
    except (ValueError, RecursionError):
        return None
