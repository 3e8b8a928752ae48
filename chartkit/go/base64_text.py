"""Base64 as Go's `encoding/base64` reads it, with its errors."""

from __future__ import annotations

import base64
import re

from chartkit.go import GoError

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")
_DIGIT = re.compile(r"[A-Za-z0-9+/]")


class Base64Error(GoError):
    """Text that is not Base64, with the message of `StdEncoding.DecodeString`."""


def decode_base64(text: str) -> bytes:
    """Decode Base64, in which line ends do not count. Raises Base64Error."""
    plain = text.replace("\r", "").replace("\n", "")
    if not _BASE64.match(plain):
        raise Base64Error(f"illegal base64 data at input byte {_stop(text)}")
    return base64.b64decode(plain)


def _stop(text: str) -> int:
    """Return the byte at which Go's decoder stops, line ends included."""
    data = text.encode("utf-8", "surrogateescape").decode("latin-1")
    filled = at = 0
    while at < len(data):
        character = data[at]
        at += 1
        if character in "\r\n":
            continue
        if _DIGIT.match(character):
            filled = (filled + 1) % 4
            continue
        if character != "=" or filled < 2:
            return at - 1
        at = _skip_line_ends(data, at)
        if filled == 2:
            if at == len(data):
                return len(data)
            if data[at] != "=":
                return at - 1
            at = _skip_line_ends(data, at + 1)
        return at
    return at - filled


def _skip_line_ends(data: str, at: int) -> int:
    while at < len(data) and data[at] in "\r\n":
        at += 1
    return at
