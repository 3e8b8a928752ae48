"""Text of pipes, devices and standard input, within limits."""

from __future__ import annotations

import codecs
import os
import stat
from typing import Final, TextIO

from chartkit.documents.input_files import not_utf8, too_long, unreadable, with_newlines
from chartkit.errors import InputError
from chartkit.model import Location

LONGEST_STREAM: Final = 128 << 20
"""Bytes of the longest text of a pipe, of a device or of standard input."""
_CHUNK: Final = 1 << 20


def read_stdin(stdin: TextIO) -> str:
    """Return the text on standard input; raise InputError as `read_text` does."""
    location = Location("<stdin>")
    try:
        number = stdin.fileno()
    except (OSError, ValueError):
        return stdin.read()
    try:
        return streamed(number, location)
    except OSError as error:
        raise unreadable(error, location) from None


def is_stream(path: str, mode: int) -> bool:
    """Report whether a path is an open stream; opening a named pipe would wait for a writer."""
    is_named = os.path.exists(os.path.realpath(path)) and not path.startswith("/dev/")
    return stat.S_ISCHR(mode) or (stat.S_ISFIFO(mode) and not is_named)


def streamed(number: int, location: Location) -> str:
    """Return the text of an open file by its number; raise InputError."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    parts: list[str] = []
    size = 0
    while True:
        chunk = os.read(number, _CHUNK)
        size += len(chunk)
        if size > LONGEST_STREAM:
            raise too_long(LONGEST_STREAM, location)
        try:
            part = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise not_utf8(size - len(chunk) + error.start, location) from None
        if "\x00" in part:
            raise InputError("is not text: it holds a NUL byte", location)
        if not chunk:
            return with_newlines("".join(parts))
        parts.append(part)
