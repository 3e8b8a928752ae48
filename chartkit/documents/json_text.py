"""JSON from outside, parsed as Go's `encoding/json` does.

Python's own parser accepts more, which is refused or replaced here: `NaN` and `Infinity`, a number
beyond float64, half of a surrogate pair (U+FFFD in Go).
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from json.decoder import WHITESPACE  # type: ignore[attr-defined]
from typing import Any, Final, NoReturn

import yaml

from chartkit.documents.places import Extent
from chartkit.documents.reader import Document, Source
from chartkit.documents.yaml_builder import MAX_DEPTH, depth, fit_integer, whole
from chartkit.errors import InputError
from chartkit.model import Json, Location

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LONGEST_INTEGER: Final = 309
"""Digits of the largest float64."""


class NumberError(ValueError):
    """A number that no Go type can hold; token: its text."""

    def __init__(self, token: str) -> None:
        super().__init__(f"'{token[:40]}{'…' * (len(token) > 40)}' is not a number of JSON")
        self.token = token


def parse_json(text: str | bytes) -> Json:
    """Return the value of a JSON text, whole numbers as Kubernetes decodes them. Raise ValueError
    for invalid JSON, nesting that is too deep, and bytes that are not UTF-8; NumberError if only a
    number is wrong."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    return without_surrogates(value) if "\\u" in text else value


def parse_sequence(text: str) -> list[tuple[Json, int, int]]:
    """Return the objects of a text of several, as in NDJSON, each with its start and end. Raise
    ValueError for what is not a sequence of JSON objects, as `parse_json` does."""
    objects: list[tuple[Json, int, int]] = []
    has_escapes = "\\u" in text
    at = WHITESPACE.match(text).end()
    while at < len(text):
        if text[at] != "{":
            raise ValueError("is not a sequence of objects")
        try:
            value, end = _DECODER.raw_decode(text, at)
        except RecursionError:
            raise ValueError("is nested too deeply") from None
        objects.append((without_surrogates(value) if has_escapes else value, at, end))
        at = WHITESPACE.match(text, end).end()
    return objects


def without_surrogates(value: Any) -> Json:
    """Return a value with U+FFFD for each half of a surrogate pair, also in keys."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
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


def read_json(source: Source) -> list[Document] | None:
    """Return the document of a JSON text, or the documents of NDJSON; None for other texts."""
    try:
        try:
            values = [(parse_json(source.text), 0, len(source.text))]
        except NumberError:
            raise
        except ValueError:
            values = parse_sequence(source.text)
    except NumberError as error:
        hint = "JSON has finite numbers alone; quote what is a text"
        raise InputError(str(error), _number_place(source, error.token), hint) from None
    except ValueError:
        return None
    documents, line, before = [], 1, 0
    for body, start, end in values:
        begin = source.text.index("{", start)
        line += source.text.count("\n", before, begin)
        before = begin
        if depth(body) > MAX_DEPTH:
            message = f"is nested deeper than {MAX_DEPTH} levels"
            raise InputError(message, Location(source.file, line))
        extent = Extent(start, end, source.lines + line, is_json=True)
        documents.append(Document(body, source, extent))
    return documents


def _number_place(source: Source, token: str) -> Location:
    """Return the place of a number in a text of JSON."""
    # JSON that YAML does not take has places up to there.
    with contextlib.suppress(yaml.YAMLError):
        for event in yaml.parse(source.text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value == token:
                mark: Any = event.start_mark
                return Location(source.file, mark.line + 1, mark.column + 1)
    return Location(source.file, 1)
