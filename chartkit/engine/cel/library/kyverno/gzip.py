"""`kyverno.gzip`: texts compressed and decompressed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.printing import text_of
from chartkit.engine.cel.values import Value

_HEADER: Final = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
_EMPTY_LAST_BLOCK: Final = b"\x01\x00\x00\xff\xff"
_EMPTY_BLOCK_BITS: Final = 32
_LONGEST_PADDING: Final = 16
_MAX_SIZE: Final = 16 * 1024 * 1024
"""The largest unpacked text: a compressed one can be a thousandth of its size."""

_CHARACTERS: Final = 5
"""Characters that are as much work as one member of a list."""

_MIN_HEADER: Final = 10
_GZIP: Final = 16 + zlib.MAX_WBITS


def _work(args: Sequence[Value], _result: Value) -> int:
    """Of all that is compressed, for the result may be small."""
    data = args[0]
    return len(data) // _CHARACTERS if isinstance(data, str | bytes) else 0


@overload("compress_any_bytes: gzip.compress(dyn) -> bytes", work=_work)
def compress(value: Value) -> bytes:
    data = text_of(value).encode("utf-8", "replace")
    trailer = struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFF_FFFF)
    return _HEADER + _deflated(data) + trailer


def _deflated(data: bytes) -> bytes:
    """The data as Go ends it: with an empty stored block, which is marked as the last one."""
    if not data:
        return _EMPTY_LAST_BLOCK
    deflater = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    flushed = deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH)
    end = len(flushed) * 8 - _EMPTY_BLOCK_BITS
    # The empty block begins with three bits somewhere in the byte or two before its length; the
    # first of them says whether it is the last.
    for place in range(end - 1, end - 1 - _LONGEST_PADDING, -1):
        closed = bytearray(flushed)
        closed[place // 8] |= 1 << place % 8
        if _is_whole(bytes(closed), data):
            return bytes(closed)
    raise AssertionError("a flushed stream ends with an empty block")


def _is_whole(deflated: bytes, data: bytes) -> bool:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        return inflater.decompress(deflated) == data and inflater.eof
    except zlib.error:
        return False


@overload("decompress_bytes_string: gzip.decompress(bytes) -> string")
def decompress(data: bytes) -> str:
    parts: list[bytes] = []
    left = _MAX_SIZE
    if not data:
        raise CelError("EOF")
    while data:
        if len(data) < _MIN_HEADER:
            raise CelError("unexpected EOF")
        member, data = _member(data, left)
        left -= len(member)
        parts.append(member)
    return b"".join(parts).decode("utf-8", "replace")


def _member(data: bytes, limit: int) -> tuple[bytes, bytes]:
    """The content of the first member, and what follows it; raises `CelError`."""
    inflater = zlib.decompressobj(_GZIP)
    try:
        content = inflater.decompress(data, limit)
    except zlib.error as error:
        raise CelError(_problem(str(error))) from None
    if inflater.eof:
        return content, inflater.unused_data
    if inflater.unconsumed_tail:
        raise CelError(f"gzip: the content is larger than {limit} bytes")
    raise CelError("unexpected EOF")


def _problem(message: str) -> str:
    if "header" in message or "compression method" in message:
        return "gzip: invalid header"
    if "data check" in message or "length check" in message:
        return "gzip: invalid checksum"
    return "flate: corrupt input"


LIBRARY = Library("kyverno.gzip", overloads=declared(globals()))
