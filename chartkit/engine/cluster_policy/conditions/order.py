"""GreaterThan and its kin, and the deprecated Duration* operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import semver

from chartkit.engine.cluster_policy.conditions.comparison import (
    Compare,
    Prepare,
    is_number,
    pair_durations,
    read_any_duration,
    read_float,
    read_quantity,
    seconds_of,
)
from chartkit.go.int64 import as_float
from chartkit.model import Json

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
                return _text_holds(key, value, holds)
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
    return read_any_duration(value) if isinstance(value, str) else seconds_of(value)


def _number_holds(key: float, value: Json, holds: Holds) -> bool:
    if is_number(value):
        return holds(as_float(key), as_float(value))
    if not isinstance(value, str):
        return False
    durations = pair_durations(key, value)
    if durations:
        return holds(*durations)
    number = read_float(value)
    return number is not None and holds(as_float(key), number)


def _text_holds(key: str, value: Json, holds: Holds) -> bool:
    durations = pair_durations(key, value)
    if durations:
        return holds(*durations)
    if isinstance(value, str):
        left, right = read_quantity(key), read_quantity(value)
        if left is not None and right is not None:
            return holds(left, right)
    number = read_float(key)
    if number is not None:
        return _number_holds(number, value, holds)
    return isinstance(value, str) and _versions_hold(key, value, holds)


def _versions_hold(key: str, value: str, holds: Holds) -> bool:
    try:
        return holds(semver.Version.parse(key), semver.Version.parse(value))
    except ValueError:
        return False
