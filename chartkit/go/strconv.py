"""Go's `strconv`: texts read as numbers, stricter and laxer than Python reads them, and texts
quoted as they stand in its error messages."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from chartkit.go import GoError
from chartkit.model import Json

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
_DECIMAL = re.compile(r"[+-]?(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?\Z")
_HEX = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]++\.?+[0-9a-fA-F]*+|\.[0-9a-fA-F]++)[pP][+-]?[0-9]++\Z")
_SPECIAL = re.compile(r"(?:[+-]?inf(?:inity)?|nan)\Z", re.IGNORECASE | re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]++\Z")
MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)
_Parsed = TypeVar("_Parsed")
BOOLS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
"""The texts that Go reads as a boolean (`ParseBool`)."""


def quote(text: str) -> str:
    """The text as Go's `%q` writes it: printable characters stay, the rest is escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if escape := ESCAPES.get(character):
        return escape
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


class NumberError(GoError):
    """Text that is not a number of the kind asked for, with the message of `strconv`."""


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
    digits = _without_underscores(text)
    if digits is None:
        raise NumberError(f"strconv.ParseFloat: parsing {quote(text)}: invalid syntax")
    if _SPECIAL.match(text):
        return float(text)
    if _DECIMAL.match(digits):
        number = float(digits)
    elif _HEX.match(digits):
        try:
            number = float.fromhex(digits)
        except OverflowError:
            number = math.inf
    else:
        raise NumberError(f"strconv.ParseFloat: parsing {quote(text)}: invalid syntax")
    if math.isinf(number):
        raise NumberError(f"strconv.ParseFloat: parsing {quote(text)}: value out of range")
    return number


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


class Int64(int):
    """A whole number that Go holds as int64."""

    __slots__ = ()


def wrapped(number: int) -> int:
    """Return the lowest 64 bits of a number as an int64, as Go's conversions and sums do."""
    return (number - MIN_INT64) % 2**64 + MIN_INT64


def mark_literals(value: Json) -> Json:
    """A literal container with its whole numbers marked; a scalar is returned as it is."""
    if isinstance(value, dict):
        return {
            key: member if member.__class__ is str else marked(member)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [member if member.__class__ is str else marked(member) for member in value]
    return value


def marked(value: Json) -> Json:
    """The value with its whole numbers marked, a number of its own among them."""
    kind = value.__class__
    if kind is int and MIN_INT64 <= value <= MAX_INT64:
        return Int64(value)
    # A policy passes through JSON, which writes 1.0 as 1.
    if kind is float and value.is_integer() and MIN_INT64 <= value < 2**63:
        return Int64(value)
    return mark_literals(value)


def has_float64(value: Json) -> bool:
    """Report whether a whole number of the value is a float64 that reading JSON makes an int64."""
    kind = value.__class__
    if kind is dict:
        return any(map(has_float64, value.values()))
    if kind is list:
        return any(map(has_float64, value))
    return type(marked(value)) is Int64 and kind is not Int64


def as_float(number: float) -> float:
    """The float64 of a number; an infinity for a whole number that is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def as_floats(value: Json) -> Json:
    """Return the value with every unmarked number as the float64 that Go reads."""
    kind = value.__class__
    if kind is int:
        return as_float(value)
    if kind is dict:
        return {key: as_floats(member) for key, member in value.items()}
    if kind is list:
        return [as_floats(member) for member in value]
    return value


def to_upper(text: str) -> str:
    """The text in upper case; what would become two characters (`ß`) stays as it is."""
    return text.upper() if text.isascii() else "".join(map(_upper, text))


def to_lower(text: str) -> str:
    """The text in lower case."""
    return text.lower() if text.isascii() else "".join(character.lower()[0] for character in text)


def equal_fold(first: str, second: str) -> bool:
    """Report whether two texts differ in nothing but upper and lower case."""
    if first.isascii() and second.isascii():
        return first.lower() == second.lower()
    return list(map(str.casefold, first)) == list(map(str.casefold, second))


def _upper(character: str) -> str:
    for mapped in (character.upper(), character.title()):
        if len(mapped) == 1:
            return mapped
    return character
