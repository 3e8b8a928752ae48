"""The tokens of a CEL expression, the values of its literals, and the errors of a text.

The rules are those of cel-go's grammar: the longest token wins, and a text that begins no token is
named up to and including the character that spoils it.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from chartkit.engine.cel.errors import Issue
from chartkit.engine.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

EOF = "<EOF>"
INT, UINT, FLOAT, STRING, BYTES = "NUM_INT", "NUM_UINT", "NUM_FLOAT", "STRING", "BYTES"
IDENTIFIER, ESCAPED = "IDENTIFIER", "ESC_IDENTIFIER"
KEYWORDS = frozenset({"in", "true", "false", "null"})


class Token(NamedTuple):
    """One token; kind: the name of its class, or for operators and keywords the text itself."""

    kind: str
    text: str
    offset: int


_ESCAPE = (
    r"""\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
)
_TEXT = "|".join(
    (
        r'[rR]"""(?s:.)*?"""',
        r"[rR]'''(?s:.)*?'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
    )
)
_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<SKIP>[\t \r\n\f]+|//[^\n]*)",
            r"(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
            r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)",
            r"(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])",
            r"(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)",
            rf"(?P<STRING>{_TEXT})",
            rf"(?P<BYTES>[bB](?:{_TEXT}))",
            r"(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)",
            r"(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)",
            r"(?P<OPERATOR>[=!<>]=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])",
        )
    )
)

# What a token that was never finished had come to: all but the character that spoils it.
_UNFINISHED = re.compile(
    "|".join(
        (
            r'"(?:E|[^\\"\n\r])*(?:P)?',
            r"'(?:E|[^\\'\n\r])*(?:P)?",
            r"`[A-Za-z0-9_.\-/ ]*",
            "[&|=]",
        )
    )
    .replace("E", _ESCAPE)
    .replace("P", r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?")
)


def tokenize(source: str) -> tuple[list[Token], Issue | None]:
    """The tokens of an expression, an end mark last; the complaint about the first text that is
    none, which ends them."""
    tokens: list[Token] = []
    position, end = 0, len(source)
    match_at = _TOKEN.match
    while position < end:
        match = match_at(source, position)
        if match is None:
            begun = _UNFINISHED.match(source, position)
            text = source[position : (begun.end() if begun else position) + 1]
            tokens.append(Token(EOF, EOF, position))
            return tokens, Issue(f"Syntax error: token recognition error at: '{text}'", position)
        kind = match.lastgroup or ""
        if kind != "SKIP":
            text = match.group()
            if kind == "OPERATOR" or (kind == IDENTIFIER and text in KEYWORDS):
                token_kind = text
            else:
                token_kind = kind
            tokens.append(Token(token_kind, text, position))
        position = match.end()
    tokens.append(Token(EOF, EOF, end))
    return tokens, None


_SIMPLE = dict(zip("abfnrtv\\'\"`?", "\a\b\f\n\r\t\v\\'\"`?", strict=True))
_ESCAPED = re.compile(r"\\(?:([xX][0-9a-fA-F]{2}|u.{4}|U.{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
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
    return content if raw else _ESCAPED.sub(_character, content)


def octets(text: str) -> bytes:
    """The value of a bytes literal: `\\x` and octal escapes are bytes, other text is UTF-8."""
    content, raw = _content(text[1:])
    parts: list[bytes] = []
    position = 0
    for match in () if raw else _ESCAPED.finditer(content):
        parts.append(content[position : match.start()].encode("utf-8", "surrogatepass"))
        code, octal, simple = match.groups()
        if simple is not None:
            octet = _SIMPLE[simple].encode("ascii")
        elif code is None:
            octet = bytes((int(octal, 8),))
        else:
            if code[0] in "uU":
                raise LiteralError("unable to unescape string")
            octet = bytes((int(code[1:], 16),))
        parts.append(octet)
        position = match.end()
    parts.append(content[position:].encode("utf-8", "surrogatepass"))
    return b"".join(parts)


def _content(text: str) -> tuple[str, bool]:
    """Return the text between the quotes with uniform line ends, and whether it is raw."""
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    width = 3 if len(body) >= 6 and body[:3] in ("'''", '"""') else 1
    return body[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _character(escape: re.Match[str]) -> str:
    code, octal, simple = escape.groups()
    if simple is not None:
        return _SIMPLE[simple]
    number = int(code[1:], 16) if code is not None else int(octal, 8)
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(number)
