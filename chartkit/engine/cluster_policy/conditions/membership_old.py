"""In and NotIn, deprecated: lists are compared member by member, without wildcards."""

from __future__ import annotations

import json
from collections.abc import Callable

from chartkit.engine.cluster_policy.conditions.comparison import Compare, sprint
from chartkit.engine.cluster_policy.conditions.membership import decoded_strings, members
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import EvaluationError
from chartkit.go.int64 import Int64
from chartkit.model import Json


def is_in(value: Json) -> Compare:
    """Return whether the key, or every key of a list, is among the values."""
    keys = _keys(value, lambda keys, among: all(key in among for key in keys))
    return _compare(_scalar(value), keys)


def is_not_in(value: Json) -> Compare:
    """Return whether the key, or any key of a list, is not among the values."""
    exists = None if _is_unlisted(value) else _scalar(value)
    keys = _keys(value, lambda keys, among: any(key not in among for key in keys))
    return _compare(None if exists is None else (lambda key: not exists(key)), keys)


def _is_unlisted(value: Json) -> bool:
    # Such a text is no list to Kyverno, so that NotIn is false like In, match or no match.
    return isinstance(value, str) and _string_list(value) is None


def _compare(scalar: Callable[[str], bool] | None, keys: Callable[[list[str]], bool]) -> Compare:
    def compare(key: Json) -> bool:
        if isinstance(key, list):
            for member in key:
                if not isinstance(member, str):
                    raise EvaluationError(
                        f"interface conversion: interface {{}} is {_go_type(member)}, not string"
                    )
            return keys(key)
        if scalar is None or key is None or isinstance(key, dict):
            return False
        return scalar(sprint(key))

    return compare


def _scalar(value: Json) -> Callable[[str], bool] | None:
    if isinstance(value, list):
        return members([sprint(member) for member in value])
    if not isinstance(value, str):
        return None
    matches = compile_wildcard(value)
    listed = frozenset(_string_list(value) or ())
    return lambda key: matches(key) or key in listed


def _keys(
    value: Json, decide: Callable[[list[str], frozenset[str]], bool]
) -> Callable[[list[str]], bool]:
    text = value if isinstance(value, str) else None
    listed = _members(value)
    among = None if listed is None else frozenset(listed)

    def compare(keys: list[str]) -> bool:
        # Kyverno answers true here even where it is asked for NotIn.
        if text is not None and len(keys) == 1 and keys[0] == text:
            return True
        return among is not None and decide(keys, among)

    return compare


def _members(value: Json) -> list[str] | None:
    if isinstance(value, str):
        return _string_list(value)
    if isinstance(value, list) and all(isinstance(member, str) for member in value):
        return value
    return None


def _string_list(text: str) -> list[str] | None:
    try:
        return decoded_strings(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _go_type(value: Json) -> str:
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, Int64):
        return "int64"
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else "float64"
