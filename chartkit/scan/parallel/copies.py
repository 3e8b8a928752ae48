"""Copies of inputs that cannot be read in parts as they are: standard input, which is read only
once, and what gzip compressed. They are files in a folder of this process."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TextIO

from chartkit.documents.input_files import GZIP_CHUNK, gunzipped
from chartkit.errors import InputError
from chartkit.temporary import TemporaryFolder

LARGEST: Final = 4 << 30
"""The most bytes of a copy."""
COMPRESSED_LEAST: Final = 1 << 16
"""The bytes of a compressed file from which it may hold enough for parts."""
_CHUNK: Final = 1 << 20


class Copies:
    """The copies of one run. stdin: of standard input, None where it cannot be read in parts."""

    def __init__(self) -> None:
        self.stdin: Path | None = None
        self._folder: TemporaryFolder | None = None
        self._names: dict[str, str] = {}

    def name(self, file: str) -> str:
        """Return the name of a file in messages."""
        return self._names.get(file, file)

    def read_stdin(self, stdin: TextIO) -> TextIO:
        """Copy standard input, and return its copy to be read in its place; itself where it is no
        file of the system. Raise InputError where there is no room."""
        try:
            number = stdin.fileno()
        except (OSError, ValueError):
            return stdin
        file = self._file("<stdin>")
        if _copied(iter(lambda: os.read(number, _CHUNK), b""), file):
            self.stdin = file
        return file.open(encoding="utf-8")

    def decompressed(self, compressed: Path) -> Path | None:
        """Return a file with what gzip compressed; None where that is broken, too much, or of
        another program. Raise InputError where there is no room."""
        file = self._file(str(compressed))
        try:
            with compressed.open("rb") as stream:
                pieces = iter(lambda: stream.read(GZIP_CHUNK), b"")
                return file if _copied(gunzipped(pieces), file) else None
        except (OSError, EOFError, zlib.error):
            return None

    def close(self) -> None:
        """Remove the copies, which otherwise stay until the process ends."""
        if self._folder is not None:
            self._folder.close()

    def _file(self, name: str) -> Path:
        if self._folder is None:
            self._folder = TemporaryFolder()
        file = self._folder.path / str(len(self._names))
        self._names[str(file)] = name
        return file


def _copied(chunks: Iterable[bytes], file: Path) -> bool:
    """Copy what is read to a file; return whether all of it is there: no more than is copied, and
    nothing that no text has."""
    size = 0
    with file.open("wb") as copy:
        for chunk in chunks:
            size += len(chunk)
            try:
                copy.write(chunk)
            except OSError as error:
                what = f"a temporary copy of the input cannot be written: {error.strerror or error}"
                raise InputError(what, hint="set TMPDIR to a folder with room") from None
            if size > LARGEST or b"\0" in chunk:
                return False
    return True
