"""AnyIn, AllIn, AnyNotIn and AllNotIn: keys among values, as texts, wildcards on both sides.

Members are compared as the text that Go prints of them. A value that is a text may be a wildcard,
a range (`1-10`), a JSON list of strings, or the one member; a value of a type that the operator
does not take makes it false, negated or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from chartkit.engine.cluster_policy.conditions.comparison import Compare, never, sprint
from chartkit.engine.cluster_policy.pattern import compile_pattern
from chartkit.engine.cluster_policy.pattern.scalar import Range, read_operation
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.errors import EvaluationError
from chartkit.go.fmt import go_type
from chartkit.model import Json

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
    among = _in_range(value) if is_range(value) else _listed(value)
    if among is None:
        # JSON that is not a list of strings is false, whichever way it is asked.
        return None if negated else matches
    if negated:
        return lambda key: not (matches(key) or among(key))
    return lambda key: matches(key) or among(key)


def _listed(value: str) -> Contains | None:
    texts = string_list(value)
    return None if texts is None else frozenset(texts).__contains__


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
    """Report whether a text is written `low-high`, and none of the other operators of a pattern."""
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
