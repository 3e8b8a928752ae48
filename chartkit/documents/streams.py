"""Text of pipes, devices and standard input, within limits, and content that gzip or zstd
compressed."""

from __future__ import annotations

import codecs
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from typing import Final, TextIO

from chartkit.documents.input_files import GZIP, ZSTD, not_utf8, too_long, unreadable, with_newlines
from chartkit.errors import InputError, extra
from chartkit.model import Location

LONGEST_STREAM: Final = 128 << 20
"""Bytes of the longest text of a pipe, of a device or of standard input."""
_CHUNK: Final = 1 << 20
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
GZIP_CHUNK: Final = 1 << 12
"""Bytes that are decompressed at once: to 4 MiB at most. A member copies what follows it there, so
that the time of a file is in proportion to its size, however many members it has."""
_ZSTD_CHUNK: Final = 1 << 10
"""The same of zstd: to 32 MiB at most, 128 KiB for each block of 4 bytes."""
_ZSTD_WINDOW: Final = 128 << 20


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


def expanded(content: bytes, location: Location, most: int) -> bytes:
    """Return the expanded content of a compressed file; raise InputError for broken content, and
    for more than most bytes."""
    if content.startswith(ZSTD):
        return _joined(_unzstd(content, location), location, most)
    read = io.BytesIO(content).read
    try:
        return _joined(gunzipped(iter(lambda: read(GZIP_CHUNK), b"")), location, most)
    except zlib.error as error:
        raise InputError(f"is not a gzip file: {error}", location) from None
    except EOFError:
        raise InputError("is a gzip file that ends too soon", location) from None


def gunzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what the members of a gzip file hold, from the file's content in small pieces; raise
    zlib.error for broken content, and EOFError where some is missing. Padding after the last member
    is ignored, as gzip does."""
    stream = zlib.decompressobj(_GZIP_WINDOW)
    is_between = False
    start = b""
    for piece in pieces:
        waiting, start = start + piece, b""
        while waiting:
            if is_between:
                if len(waiting) < len(GZIP) and GZIP.startswith(waiting):
                    start = waiting
                    break
                if not waiting.startswith(GZIP):
                    return
                stream = zlib.decompressobj(_GZIP_WINDOW)
            yield stream.decompress(waiting)
            is_between, waiting = stream.eof, stream.unused_data
    if not stream.eof:
        raise EOFError


def _unzstd(content: bytes, location: Location) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        hint = f"{extra('zstd')}, or give what `zstd -dc` prints"
        raise InputError("is compressed with zstd", location, hint) from None
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    stream = decompressor.decompressobj()
    for start in range(0, len(content), _ZSTD_CHUNK):
        waiting = content[start : start + _ZSTD_CHUNK]
        while waiting:
            if stream.eof:
                stream = decompressor.decompressobj()
            try:
                yield stream.decompress(waiting)
            except zstandard.ZstdError as error:
                raise InputError(f"is not a zstd file: {error}", location) from None
            waiting = stream.unused_data if stream.eof else b""
    if not stream.eof:
        raise InputError("is a zstd file that ends too soon", location)


def _joined(parts: Iterable[bytes], location: Location, most: int) -> bytes:
    whole = bytearray()
    for part in parts:
        whole += part
        if len(whole) > most:
            hint = "split it into several files"
            raise InputError(f"holds more than {most >> 20} MiB", location, hint)
    return bytes(whole)
