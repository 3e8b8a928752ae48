"""JSON from outside, parsed as Go's `encoding/json` does.

Python's own parser accepts more, which is refused or replaced here: `NaN` and `Infinity`, a number
beyond float64, half of a surrogate pair (U+FFFD in Go).
"""

from __future__ import annotations

import json
import math
import re
from json.decoder import WHITESPACE  # type: ignore[attr-defined]
from typing import Any, Final, NoReturn

from chartkit.documents.yaml_builder import fit_integer, whole
from chartkit.model import Json

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LONGEST_INTEGER: Final = 309
"""Digits of the largest float64."""


class NumberError(ValueError):
    """A number that no Go type can hold; token: its text."""

    def __init__(self, token: str) -> None:
        super().__init__(f"'{token[:40]}{'…' * (len(token) > 40)}' is not a number of JSON")
        self.token = token


def parse_json(text: str | bytes) -> Json:
    """Return the value of a JSON text, whole numbers as Kubernetes decodes them.

    Raise ValueError for invalid JSON, nesting that is too deep, and bytes that are not UTF-8;
    NumberError if only a number is wrong.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    return without_surrogates(value) if "\\u" in text else value


def parse_sequence(text: str) -> list[tuple[Json, int, int]]:
    """Return the objects of a text of several, as in NDJSON, each with its start and end.

    Raise ValueError for what is not a sequence of JSON objects, as `parse_json` does.
    """
    found: list[tuple[Json, int, int]] = []
    has_escapes = "\\u" in text
    at = WHITESPACE.match(text).end()
    while at < len(text):
        if text[at] != "{":
            raise ValueError("is not a sequence of objects")
        try:
            value, end = _DECODER.raw_decode(text, at)
        except RecursionError:
            raise ValueError("is nested too deeply") from None
        found.append((without_surrogates(value) if has_escapes else value, at, end))
        at = WHITESPACE.match(text, end).end()
    return found


def without_surrogates(value: Any) -> Json:
    """Return a value with U+FFFD for each half of a surrogate pair, also in keys."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_surrogates(each) for each in value]
    return value


def finite(text: str) -> float:
    """Return the float64 of a number's text; raise NumberError for one beyond its range."""
    number = float(text)
    if math.isinf(number):
        raise NumberError(text)
    return number


def _integer(text: str) -> int | float:
    if len(text) > _LONGEST_INTEGER:
        return finite(text)
    try:
        return fit_integer(int(text))
    except OverflowError:
        raise NumberError(text) from None


def _constant(text: str) -> NoReturn:
    raise NumberError(text)


_DECODER: Final = json.JSONDecoder(
    parse_int=_integer, parse_float=lambda text: whole(finite(text)), parse_constant=_constant
)
