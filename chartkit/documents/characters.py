"""The place of one character of a text value in the source: an expression's column in any YAML
style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)+")
_BLOCKS: Final = ("|", ">")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "_": "\xa0"}
_WIDTHS: Final = {"x": 2, "u": 4, "U": 8}


def offset_in_source(raw: str, style: str | None, value: str, offset: int) -> int | None:
    """Return the offset in a scalar's source of the character at an offset of its value.

    raw: the scalar as it is written, with its quotes or block header; style: its first character,
    None or empty for a plain one. White space is not compared, for folding changes it. None where
    value and source do not agree otherwise.
    """
    begin = match.end() if (match := _PROPERTIES.match(raw)) else 0
    characters = _characters(raw[begin:], style or "")
    written = [(begin + at, letter) for at, letter in characters if not letter.isspace()]
    letters = [letter for letter in value if not letter.isspace()]
    if [letter for _, letter in written] != letters or not letters:
        return None
    before = sum(not letter.isspace() for letter in value[:offset])
    if before and not value[offset : offset + 1].strip():
        return written[before - 1][0] + 1
    return written[before][0]


def _characters(raw: str, style: str) -> Iterator[tuple[int, str]]:
    """Yield the characters that a scalar stands for, each with its offset in the source."""
    if style in _BLOCKS:
        start = raw.find("\n")
        yield from enumerate(raw[start:], start) if start >= 0 else ()
    elif style == "'":
        at = 1
        while at < len(raw) - 1:
            yield at, raw[at]
            at += 2 if raw.startswith("''", at) else 1
    elif style == '"':
        yield from _unescaped(raw)
    else:
        yield from enumerate(raw)


def _unescaped(raw: str) -> Iterator[tuple[int, str]]:
    at = 1
    while at < len(raw) - 1:
        if raw[at] != "\\":
            yield at, raw[at]
            at += 1
            continue
        letter = raw[at + 1]
        width = _WIDTHS.get(letter, 0)
        digits = raw[at + 2 : at + 2 + width]
        yield at, chr(int(digits, 16)) if width else _ESCAPES.get(letter, letter)
        at += 2 + width
