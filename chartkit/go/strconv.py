"""Go's `strconv`: texts read as numbers, stricter and laxer than Python reads them, and texts
quoted as they stand in its error messages."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeVar

from chartkit.go import GoError

ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """The text as Go's `%q` writes it: printable characters stay, the rest is escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if known := ESCAPES.get(character):
        return known
    if character.isprintable():
        return character
    return escape_code(ord(character))


def escape_code(code: int) -> str:
    """The escape of a code point: `\\x7f`, `\\u2028`, `\\U0001f600`."""
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        code = 0xFFFD
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_ascii(text: str) -> str:
    """The text as package `time` quotes it: bytes outside printable ASCII become `\\xNN`."""
    parts = []
    for character in text:
        if character in '"\\':
            parts.append("\\" + character)
        elif " " <= character < "\x7f" or character == "\x7f":
            parts.append(character)
        else:
            parts.extend(f"\\x{byte:02x}" for byte in character.encode("utf-8", "replace"))
    return '"' + "".join(parts) + '"'


def quote_rune(character: str) -> str:
    """A character as `strconv.QuoteRuneToASCII` writes it: `'x'`, `'\\u00e9'`."""
    if character == "'":
        return "'\\''"
    if character == '"' or (" " <= character < "\x7f" and character != "\\"):
        return f"'{character}'"
    return f"'{ESCAPES.get(character) or escape_code(ord(character))}'"


def quote_byte(code: int) -> str:
    """A byte as `encoding/json` names it in messages; it is taken as a Latin-1 character."""
    if code == ord("'"):
        return "'\\''"
    return "'\"'" if code == ord('"') else f"'{quote(chr(code))[1:-1]}'"


_DECIMAL = re.compile(r"[+-]?(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?\Z")
_HEX = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]++\.?+[0-9a-fA-F]*+|\.[0-9a-fA-F]++)[pP][+-]?[0-9]++\Z")
_SPECIAL = re.compile(r"(?:[+-]?inf(?:inity)?|nan)\Z", re.IGNORECASE | re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]++\Z")

MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)


_Parsed = TypeVar("_Parsed")


class NumberError(GoError):
    """A text that is no number of the kind asked for; the message is that of `strconv`."""


def or_none(parse: Callable[[str], _Parsed]) -> Callable[[str], _Parsed | None]:
    """Return a parser that gives None for a text that another refuses with a ValueError."""

    def parsed(text: str) -> _Parsed | None:
        try:
            return parse(text)
        except ValueError:
            return None

    return parsed


def parse_float(text: str) -> float:
    """The float64 of a text, as `strconv.ParseFloat(text, 64)`; raises `NumberError`.

    Takes `1e3`, `.5`, `1_000`, `0x1p-2`, `inf` and `NaN`; refuses spaces and what is too large.
    """
    plain = _without_underscores(text)
    if plain is None:
        raise NumberError(f"strconv.ParseFloat: parsing {quote(text)}: invalid syntax")
    if _SPECIAL.match(text):
        return float(text)
    if _DECIMAL.match(plain):
        number = float(plain)
    elif _HEX.match(plain):
        number = _hex(plain)
    else:
        raise NumberError(f"strconv.ParseFloat: parsing {quote(text)}: invalid syntax")
    if math.isinf(number):
        raise NumberError(f"strconv.ParseFloat: parsing {quote(text)}: value out of range")
    return number


def _hex(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return math.inf


def _without_underscores(text: str) -> str | None:
    """The text without the `_` between digits; None where one stands elsewhere."""
    if "_" not in text:
        return text
    body = text.lstrip("+-").lower()
    hexadecimal = body.startswith("0x")
    digits = "0123456789abcdef" if hexadecimal else "0123456789"
    if hexadecimal:
        # One underscore may follow the prefix.
        body = "0" + body[2:]
    before = ""
    for index, character in enumerate(body):
        if character == "_":
            after = body[index + 1 : index + 2]
            if not before or before not in digits or not after or after not in digits:
                return None
        before = character
    return text.replace("_", "")


def parse_int(text: str) -> int:
    """The int64 of a decimal text, as `strconv.ParseInt(text, 10, 64)`; raises `NumberError`."""
    if not _INTEGER.match(text):
        raise NumberError(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    digits = text.lstrip("+-").lstrip("0")
    number = int(digits or "0") if len(digits) < 20 else MAX_INT64 + 2
    number = -number if text.startswith("-") else number
    if not MIN_INT64 <= number <= MAX_INT64:
        raise NumberError(f"strconv.ParseInt: parsing {quote(text)}: value out of range")
    return number


def truncate_to_int64(number: float) -> int:
    """A float64 as Go's `int64(number)` on amd64: what does not fit is the least int64."""
    if not math.isfinite(number) or not MIN_INT64 <= number < 2**63:
        return MIN_INT64
    return int(number)
