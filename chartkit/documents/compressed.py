"""Files that gzip or zstd compressed, told by their first bytes and decompressed within a limit."""

from __future__ import annotations

import zlib
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location

LARGEST: Final = 512 << 20
"""Bytes of the largest content: as much as a file that is not compressed may have."""
SUFFIXES: Final = frozenset({".gz", ".zst"})
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_CHUNK: Final = 1 << 20
_ZSTD_CHUNK: Final = 1 << 10
"""Bytes that are decompressed at once: to 32 MiB at most, 128 KiB for each block of 4 bytes."""
_ZSTD_WINDOW: Final = 128 << 20


def decompressed(content: bytes, location: Location, most: int = LARGEST) -> bytes:
    """Return what a file's content stands for; the content itself where it is not compressed.

    Raise InputError for broken content, and for more than most bytes.
    """
    if content.startswith(_GZIP):
        return _gunzipped(content, location, most)
    if content.startswith(_ZSTD):
        return _unzstd(content, location, most)
    return content


def _gunzipped(content: bytes, location: Location, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while content:
        stream = zlib.decompressobj(_GZIP_WINDOW)
        while not stream.eof:
            try:
                part = stream.decompress(content, _CHUNK)
            except zlib.error as error:
                raise InputError(f"is no gzip file: {error}", location) from None
            content = stream.unconsumed_tail or stream.unused_data
            if not part and not content and not stream.eof:
                raise InputError("is a gzip file that ends too soon", location)
            size += len(part)
            if size > most:
                raise _too_large(location, most)
            parts.append(part)
        if not content.startswith(_GZIP):
            # Padding behind the last member counts for nothing, as it does to gzip.
            break
    return b"".join(parts)


def _unzstd(content: bytes, location: Location, most: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        hint = "pip install '.[zstd]' where chartkit's source is, or give what `zstd -dc` prints"
        raise InputError("is compressed with zstd", location, hint) from None
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    parts: list[bytes] = []
    size = 0
    stream = decompressor.decompressobj()
    for start in range(0, len(content), _ZSTD_CHUNK):
        waiting = content[start : start + _ZSTD_CHUNK]
        while waiting:
            if stream.eof:
                stream = decompressor.decompressobj()
            try:
                parts.append(stream.decompress(waiting))
            except zstandard.ZstdError as error:
                raise InputError(f"is no zstd file: {error}", location) from None
            waiting = stream.unused_data if stream.eof else b""
            size += len(parts[-1])
            if size > most:
                raise _too_large(location, most)
    if not stream.eof:
        raise InputError("is a zstd file that ends too soon", location)
    return b"".join(parts)


def _too_large(location: Location, most: int) -> InputError:
    return InputError(f"holds more than {most >> 20} MiB", location, "split it into several files")
