"""The part of a report that is written while results come, kept in a temporary file."""

from __future__ import annotations

import codecs
import re
import tempfile
import weakref
from collections.abc import Iterator
from typing import IO, Final

from chartkit.errors import InputError

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
        self._parts.append(data)
        self.size += len(data)
        self._pending += len(data)
        if self._pending > _IN_MEMORY:
            self._flush()

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
