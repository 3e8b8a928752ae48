"""Constants and names as texts of CEL."""

from __future__ import annotations

import re

from chartkit.engine.cel.parser.lexer import KEYWORDS
from chartkit.engine.cel.values import Scalar, Uint

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", "\\": "\\"}


def is_field_name(name: str) -> bool:
    """Return whether a name can stand behind a dot; of reserved words, only four cannot."""
    return _NAME.fullmatch(name) is not None and name not in KEYWORDS


def field_name(name: str) -> str:
    """Return the text of a field behind a dot."""
    return name if is_field_name(name) else f"`{name}`"


def authored(value: Scalar) -> str:
    """Return a constant as an author writes it: in the quotes that need fewer escapes.

    Single quotes win a tie. A text with backslashes is raw where that says the same.
    """
    if isinstance(value, str):
        quote = '"' if value.count("'") > value.count('"') else "'"
        raw = "\\" in value and quote not in value and value.isprintable()
        return f"r{quote}{value}{quote}" if raw else _quoted(value, quote)
    if isinstance(value, bytes):
        quote = "'" if b"'" not in value else '"'
        octets = "".join(_octet(octet, quote) for octet in value)
        return f"b{quote}{octets}{quote}"
    return _plain(value)


def reference(value: Scalar) -> str:
    """Return a constant as cel-go writes it: in double quotes, each byte in octal."""
    if isinstance(value, str):
        return _quoted(value, '"')
    if isinstance(value, bytes):
        octets = "".join(f"\\{octet:03o}" for octet in value)
        return f'b"{octets}"'
    return _plain(value)


def _plain(value: float | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{int(value)}u" if isinstance(value, Uint) else repr(value)


def _quoted(text: str, quote: str) -> str:
    return f"{quote}{''.join(_escaped(char, quote) for char in text)}{quote}"


def _escaped(char: str, quote: str) -> str:
    if char == quote or char in _ESCAPES:
        return f"\\{_ESCAPES.get(char, char)}"
    code = ord(char)
    if char.isprintable() or 0xD800 <= code <= 0xDFFF:
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _octet(octet: int, quote: str) -> str:
    char = chr(octet)
    if char == quote or char in _ESCAPES:
        return f"\\{_ESCAPES.get(char, char)}"
    return char if 0x20 <= octet < 0x7F else f"\\x{octet:02x}"
