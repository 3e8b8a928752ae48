"""JSON that strangers wrote, read as Go's `encoding/json` reads it.

What Python's own reader takes beyond that has no place in a document: `NaN` and `Infinity`, a
number beyond float64, half of a surrogate pair (Go makes U+FFFD of it).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

from chartkit.documents.yaml_builder import fit_integer, whole
from chartkit.model import Json

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LONGEST_INTEGER: Final = 309
"""Digits of the largest float64."""


class NumberError(ValueError):
    """A number that no Go value holds; token: its text."""

    def __init__(self, token: str) -> None:
        super().__init__(f"'{token[:40]}{'…' * (len(token) > 40)}' is no number of JSON")
        self.token = token


def parse_json(text: str | bytes) -> Json:
    """Return the value of a JSON text, whole numbers as Kubernetes decodes them.

    Raises ValueError for what is no JSON, for what is nested too deeply, and for bytes that are not
    UTF-8; NumberError where nothing but a number is wrong.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    return without_surrogates(value) if "\\u" in text else value


def without_surrogates(value: Any) -> Json:
    """Return a value with U+FFFD for each half of a surrogate pair, in keys, too."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_surrogates(each) for each in value]
    return value


def finite(text: str) -> float:
    """Return the float64 of a number's text; raises NumberError for one beyond its range."""
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
