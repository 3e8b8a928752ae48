"""The values of CEL's literals: numbers, strings and bytes as they are written."""

from __future__ import annotations

import math
import re

from chartkit.engine.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE = re.compile(r"\\(?:([xX][0-9a-fA-F]{2}|u.{4}|U.{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_MOST_DIGITS = 20
"""No number of 64 bits has more digits; Python refuses to read very long ones."""


class LiteralError(ValueError):
    """A literal that the grammar takes has no value; the message is cel-go's."""


def integer(text: str) -> int:
    """The value of an int literal, its sign included, within 64 bits."""
    value = _digits(text.removeprefix("-"))
    if value is not None and text.startswith("-"):
        value = -value
    if value is None or not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def unsigned(text: str) -> Uint:
    """The value of a uint literal such as `1u` or `0xFFu`."""
    value = _digits(text[:-1])
    if value is None or value > UINT_MAX:
        raise LiteralError("invalid uint literal")
    return Uint(value)


def _digits(text: str) -> int | None:
    base, digits = (16, text[2:]) if text.startswith("0x") else (10, text)
    digits = digits.lstrip("0") or "0"
    return int(digits, base) if len(digits) <= _MOST_DIGITS else None


def double(text: str) -> float:
    """The value of a double literal; one that is too large has none."""
    value = float(text)
    if math.isinf(value):
        raise LiteralError("invalid double literal")
    return value


def string(text: str) -> str:
    """The value of a string literal in any of its quotes, raw or not."""
    content, raw = _content(text)
    return content if raw else _ESCAPE.sub(_character, content)


def octets(text: str) -> bytes:
    """The value of a bytes literal: `\\x` and octal escapes are bytes, other text is UTF-8."""
    content, raw = _content(text[1:])
    parts: list[bytes] = []
    position = 0
    for found in () if raw else _ESCAPE.finditer(content):
        parts.append(content[position : found.start()].encode("utf-8", "surrogatepass"))
        parts.append(_octet(found))
        position = found.end()
    parts.append(content[position:].encode("utf-8", "surrogatepass"))
    return b"".join(parts)


def _content(text: str) -> tuple[str, bool]:
    """Return the text between the quotes with uniform line ends, and whether it is raw."""
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    width = 3 if len(body) >= 6 and body[:3] in ("'''", '"""') else 1
    return body[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _character(found: re.Match[str]) -> str:
    code, octal, simple = found.groups()
    if simple is not None:
        return _SIMPLE[simple]
    number = int(code[1:], 16) if code is not None else int(octal, 8)
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(number)


def _octet(found: re.Match[str]) -> bytes:
    code, octal, simple = found.groups()
    if simple is not None:
        return _SIMPLE[simple].encode("ascii")
    if code is None:
        return bytes((int(octal, 8),))
    if code[0] in "uU":
        raise LiteralError("unable to unescape string")
    return bytes((int(code[1:], 16),))
