"""The text of a report that is written while results come, kept in a temporary file."""

from __future__ import annotations

import codecs
import re
import tempfile
import weakref
from array import array
from collections.abc import Hashable, Iterator, Mapping
from typing import IO, Final, Generic, TypeAlias, TypeVar

from chartkit.errors import InputError

K = TypeVar("K", bound=Hashable)

SpoolPart: TypeAlias = tuple[bytes, Mapping[K, "array[int]"]]
"""Texts, and the places of each key's."""
_IN_MEMORY: Final = 1 << 18
_PIECE: Final = 1 << 18
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


class Spool:
    """A text that grows at its end and is read back in pieces; most of it is on disk.

    A position is a number of bytes of UTF-8. A lone surrogate, which a file cannot hold, becomes
    U+FFFD. Raise InputError if there is no room for a temporary file.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._parts: list[bytes] = []
        self._pending = 0
        self.size = 0

    def write(self, text: str) -> None:
        """Append text."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            data = _SURROGATES.sub("\ufffd", text).encode()
        self.append(data)

    def append(self, part: bytes) -> None:
        """Append the text of another one, as `part` gives it."""
        self._parts.append(part)
        self.size += len(part)
        self._pending += len(part)
        if self._pending > _IN_MEMORY:
            self._flush()

    def part(self) -> bytes:
        """Return the text, and begin anew."""
        part = b"".join(self._parts)
        if self._file is not None:
            self._file.seek(0)
            part = self._file.read() + part
            self._file.seek(0)
            self._file.truncate()
        self._parts, self._pending, self.size = [], 0, 0
        return part

    def pieces(self, start: int = 0, end: int | None = None) -> Iterator[str]:
        """Yield the text between two positions, all of it by default."""
        end = self.size if end is None else end
        decode = codecs.getincrementaldecoder("utf-8")().decode
        if self._file is None:
            yield b"".join(self._parts)[start:end].decode()
            return
        self._flush()
        self._file.seek(start)
        while start < end:
            data = self._file.read(min(_PIECE, end - start))
            start += len(data)
            yield decode(data)

    def _flush(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="chartkit-")  # noqa: SIM115 - see below
                weakref.finalize(self, self._file.close)
            self._file.seek(0, 2)
            self._file.write(b"".join(self._parts))
            self._file.flush()
        except OSError as error:
            what = f"a temporary file for the report cannot be written: {error.strerror or error}"
            raise InputError(what, hint="set TMPDIR to a folder with room") from None
        self._parts.clear()
        self._pending = 0


class SortedSpool(Generic[K]):
    """Texts by their keys, each of which grows at its end; most of them are on disk."""

    def __init__(self) -> None:
        self._spool = Spool()
        self._places: dict[K, array[int]] = {}

    def write(self, key: K, text: str) -> None:
        """Append to the text of a key."""
        start = self._spool.size
        self._spool.write(text)
        self._note(key, start, self._spool.size)

    def pieces(self, key: K) -> Iterator[str]:
        """Yield the text of a key."""
        places = self._places[key]
        for start, end in zip(places[::2], places[1::2], strict=True):
            yield from self._spool.pieces(start, end)

    def part(self) -> SpoolPart[K]:
        """Return the texts, and begin anew."""
        places, self._places = self._places, {}
        return self._spool.part(), places

    def append(self, part: SpoolPart[K]) -> None:
        """Append the texts of another one, as `part` gives them."""
        text, by_key = part
        start = self._spool.size
        self._spool.append(text)
        for key, places in by_key.items():
            for first, last in zip(places[::2], places[1::2], strict=True):
                self._note(key, start + first, start + last)

    def _note(self, key: K, start: int, end: int) -> None:
        places = self._places.setdefault(key, array("Q"))
        if places and places[-1] == start:
            places[-1] = end
        else:
            places.extend((start, end))
