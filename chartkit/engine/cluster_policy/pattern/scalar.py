"""Scalars of a pattern, each compiled to a function that tells whether a value matches."""

from __future__ import annotations

from chartkit.engine.cluster_policy.pattern.numbers import go_number
from chartkit.engine.cluster_policy.pattern.operators import (
    Holds,
    compile_operation,
    literal,
    text_of,
)
from chartkit.go.int64 import Int64, as_float
from chartkit.go.strconv import NumberError, parse_float, parse_int, truncate_to_int64
from chartkit.model import Json


def compile_scalar(pattern: Json) -> Holds:
    """A function from a value (no list: it answers False) to whether it matches.

    pattern: a text, number (`Int64` for int64, else float64), boolean or None.
    """
    if pattern is None:
        return _is_zero
    if isinstance(pattern, bool):
        return lambda value: value is pattern
    if isinstance(pattern, str):
        return _compile_text(pattern)
    if isinstance(pattern, Int64):
        return _compile_whole(pattern)
    return _compile_float(as_float(pattern))


def _is_zero(value: Json) -> bool:
    return not value and not isinstance(value, dict | list)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compile_whole(pattern: int) -> Holds:
    def holds(value: Json) -> bool:
        if isinstance(value, str):
            try:
                return parse_int(value) == pattern
            except NumberError:
                return False
        if not _is_number(value):
            return False
        number = go_number(value)
        if isinstance(number, float):
            return number.is_integer() and truncate_to_int64(number) == pattern
        return number == pattern

    return holds


def _compile_float(pattern: float) -> Holds:
    is_whole = pattern.is_integer()
    truncated = truncate_to_int64(pattern)

    def holds(value: Json) -> bool:
        if isinstance(value, str):
            try:
                return parse_float(value) == pattern
            except NumberError:
                return False
        if not _is_number(value):
            return False
        number = go_number(value)
        if isinstance(number, float):
            return number == pattern
        return is_whole and number == truncated

    return holds


def _compile_text(pattern: str) -> Holds:
    parts = [
        [part.strip(" ") for part in either.strip(" ").split("&")] for either in pattern.split("|")
    ]
    literals = [literal(both[0]) if len(both) == 1 else None for both in parts]
    texts = frozenset(text for text in literals if text is not None)
    if None not in literals:
        return _one_of(texts, pattern)
    alternatives = [_all_of([compile_operation(part) for part in both]) for both in parts]
    if len(alternatives) == 1:
        (only,) = alternatives
        return lambda value: value == pattern or only(value)

    def holds(value: Json) -> bool:
        if value == pattern:
            return True
        return any(alternative(value) for alternative in alternatives)

    return holds


def _one_of(texts: frozenset[str], pattern: str) -> Holds:
    def holds(value: Json) -> bool:
        if type(value) is str:
            return value in texts or value == pattern
        return text_of(value) in texts

    return holds


def _all_of(operations: list[Holds]) -> Holds:
    if len(operations) == 1:
        return operations[0]
    return lambda value: all(operation(value) for operation in operations)
