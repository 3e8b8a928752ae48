"""Scalar patterns: literals, wildcards, `|`, `&`, comparisons and ranges.

A text is compared as a duration where both sides are one, else as a quantity where both sides
are one, else as a text with wildcards. A missing value counts as `0` in the first two.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from chartkit.engine.int64 import Int64
from chartkit.engine.values.duration import parse_duration
from chartkit.engine.values.numbers import parse_float, parse_int
from chartkit.engine.values.quantity import Quantity
from chartkit.engine.values.wildcard import compile_wildcard
from chartkit.model import Json

Holds = Callable[[Json], bool]

_END = r"([-|+]?\d+(?:\.\d+)?[A-Za-z]*)"
_RANGE = re.compile(rf"{_END}-{_END}", re.ASCII)
_NOT_RANGE = re.compile(rf"{_END}!-{_END}", re.ASCII)
_EQUAL, _NOT_EQUAL = "", "!"
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    _NOT_EQUAL: operator.ne,
    _EQUAL: operator.eq,
}


def compile_scalar(pattern: Json) -> Holds:
    """A function that tells whether a value (never a list) matches a scalar pattern.

    Whole numbers of a pattern are int64 where they are marked so (`Int64`), and float64 elsewhere,
    as every number of an object is; the two read a text differently.
    """
    if isinstance(pattern, str):
        return _compile_text(pattern)
    if isinstance(pattern, bool):
        return lambda value: value is pattern
    if isinstance(pattern, Int64):
        return lambda value: _equals_number(value, pattern, parse_int)
    if isinstance(pattern, int | float):
        return lambda value: _equals_number(value, pattern, parse_float)
    return _is_nothing


def _is_nothing(value: Json) -> bool:
    return not isinstance(value, dict | list) and not value


def _equals_number(value: Json, pattern: float, parse: Callable[[str], float]) -> bool:
    if isinstance(value, str):
        try:
            return parse(value) == pattern
        except ValueError:
            return False
    return value.__class__ is not bool and isinstance(value, int | float) and value == pattern


@lru_cache(maxsize=4096)
def _compile_text(pattern: str) -> Holds:
    alternatives = [_compile_all(part.strip(" ")) for part in pattern.split("|")]
    if len(alternatives) == 1:
        only = alternatives[0]
        return lambda value: value == pattern or only(value)

    def holds(value: Json) -> bool:
        if value == pattern:
            return True
        return any(alternative(value) for alternative in alternatives)

    return holds


def _compile_all(text: str) -> Holds:
    conditions = [_compile_one(part.strip(" ")) for part in text.split("&")]
    if len(conditions) == 1:
        return conditions[0]
    return lambda value: all(condition(value) for condition in conditions)


def _compile_one(text: str) -> Holds:
    sign = _sign(text)
    if sign is not None:
        return _compile_comparison(text[len(sign) :].strip(), sign)
    if outside := _NOT_RANGE.fullmatch(text):
        below = _compile_comparison(outside[1], "<")
        above = _compile_comparison(outside[2], ">")
        return lambda value: below(value) or above(value)
    if inside := _RANGE.fullmatch(text):
        least = _compile_comparison(inside[1], ">=")
        most = _compile_comparison(inside[2], "<=")
        return lambda value: least(value) and most(value)
    return _compile_comparison(text.strip(), _EQUAL)


def _sign(text: str) -> str | None:
    if len(text) < 2:
        return _EQUAL
    return next((sign for sign in _COMPARE if sign and text.startswith(sign)), None)


def _compile_comparison(operand: str, sign: str) -> Holds:
    duration, quantity = _duration(operand), _quantity(operand)
    as_text = _compile_wildcards(operand, sign)
    if duration is None and quantity is None:
        return as_text
    compare = _COMPARE[sign]

    def holds(value: Json) -> bool:
        number = _number_text(value)
        if number is not None:
            if duration is not None and (given := _duration(number)) is not None:
                return compare(given, duration)
            if quantity is not None and (amount := _quantity(number)) is not None:
                return compare(amount, quantity)
        return as_text(value)

    return holds


def _compile_wildcards(operand: str, sign: str) -> Holds:
    if sign not in (_EQUAL, _NOT_EQUAL):
        return _never
    matches = compile_wildcard(operand)
    wanted = sign == _EQUAL

    def holds(value: Json) -> bool:
        text = value if value.__class__ is str else _scalar_text(value)
        return text is not None and matches(text) is wanted

    return holds


def _never(_: Json) -> bool:
    return False


def _scalar_text(value: Json) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Int64):
        return str(int(value))
    return exponent_text(value) if isinstance(value, int | float) else None


def exponent_text(number: float) -> str:
    """A float64 as `strconv.FormatFloat(number, 'E', -1, 64)` prints it: `1.5E+00`."""
    number = float(number)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    text = "".join(map(str, digits))
    power = 0 if text == "0" else int(exponent) + len(text) - 1
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{'-' if sign else ''}{text[0]}{fraction}E{power:+03d}"


def _number_text(value: Json) -> str | None:
    if value is None:
        return "0"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return None
    if isinstance(value, Int64):
        return str(int(value))
    return f"{value:f}" if isinstance(value, int | float) else None


@lru_cache(maxsize=4096)
def _duration(text: str) -> int | None:
    try:
        return parse_duration(text)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _quantity(text: str) -> Quantity | None:
    try:
        return Quantity.parse(text)
    except ValueError:
        return None
