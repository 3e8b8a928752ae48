"""Bytes and text of the user's files, pipes and standard input, within limits; the git checkout
that a file is in."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location

LARGEST: Final = 512 << 20
"""Bytes of the largest content: as much as a file that is not compressed may have."""
LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
"""The first bytes of a file that Git LFS keeps elsewhere."""
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""The first bytes of compressed files."""
SUFFIXES: Final = frozenset({".gz", ".zst"})
LARGEST_FILE: Final = 512 << 20
"""Bytes of the largest file that is read."""
_KINDS: Final = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}
_STREAM_HINT: Final = "name a file, or give the text on standard input"
EDITED: Final[dict[str, bytes]] = {}
"""The contents of files that an editor has open, by their real paths: read in place of the disk's.
"""
is_there, is_file, is_folder = os.path.exists, os.path.isfile, os.path.isdir
"""Tests of paths; false for a path that the system cannot represent."""


def checkout_top(path: Path) -> Path | None:
    """Return the nearest folder with `.git`, of a path and those above it; None outside of any
    checkout. In worktrees and submodules `.git` is a file."""
    return next((file for file in (path, *path.parents) if os.path.lexists(file / ".git")), None)


def decompressed(content: bytes, location: Location, most: int = LARGEST) -> bytes:
    """Return a file's content, decompressed where it is compressed. Raise InputError for broken
    content, and for more than most bytes."""
    if not content.startswith((GZIP, ZSTD)):
        return content
    from chartkit.documents.streams import expanded

    return expanded(content, location, most)


def edited(path: Path | str) -> bytes | None:
    """Return the content of a file that an editor has open; None for any other."""
    return EDITED.get(os.path.realpath(path)) if EDITED else None


def read_bytes(path: Path | str, most: int = LARGEST_FILE) -> bytes:
    """Return a regular file's content. Raise InputError for a file that is missing, not regular,
    unreadable or larger than most bytes."""
    location = Location(str(path))
    try:
        if (content := edited(path)) is None:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                raise _refused(status.st_mode, location)
            with open(path, "rb") as file:
                content = file.read(min(status.st_size, most) + 1)
                if len(content) > status.st_size:
                    # It grows, or has no size. What is asked for at once takes memory at once.
                    content += file.read(most + 1 - len(content))
    except (OSError, ValueError) as error:
        raise unreadable(error, location) from None
    if len(content) > most:
        raise too_long(most, location)
    return content


def read_span(path: Path | str, start: int, end: int) -> bytes:
    """Return the bytes of a file from start to end; raise InputError."""
    try:
        with open(path, "rb") as file:
            file.seek(start)
            return file.read(end - start)
    except (OSError, ValueError) as error:
        raise unreadable(error, Location(str(path))) from None


def read_text(path: Path | str) -> str:
    """Return the text of a file or stream without a byte order mark; of a file that gzip or zstd
    compressed, what is in it. A stream is `/dev/stdin`, a process substitution or another device.
    Raise InputError as `read_bytes` does, and for text that is not UTF-8."""
    location = Location(str(path))
    try:
        if (content := edited(path)) is not None:
            return decoded(content, location)
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            return decoded(decompressed(read_bytes(path), location), location)
        from chartkit.documents.streams import is_stream, streamed

        if not is_stream(str(path), status.st_mode):
            raise _refused(status.st_mode, location)
        with open(path, "rb", buffering=0) as stream:
            return streamed(stream.fileno(), location)
    except (OSError, ValueError) as error:
        raise unreadable(error, location) from None


def file_state(file: str | Path) -> tuple[int, ...]:
    """Return a state that changes when a file is written, for keys of what was read from it;
    nothing for a file that cannot be looked at."""
    try:
        status = os.stat(file)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino


def refuse_special(path: Path) -> None:
    """Refuse a pipe, a socket or a device that a folder holds; raise InputError."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if stat.S_IFMT(mode) in _KINDS:
        raise _refused(mode, Location(str(path)))


def decoded(content: bytes, location: Location, start: int = 0) -> str:
    """The text of bytes of a file without a byte order mark, with newlines as its only line ends;
    start: of the bytes. Raises InputError for what is not UTF-8, and for a pointer of Git LFS."""
    if content.startswith(LFS_POINTER):
        message = "is a pointer of Git LFS, and its content is not here"
        raise InputError(message, location, "git lfs pull")
    try:
        return with_newlines(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise not_utf8(start + error.start, location) from None


def with_newlines(text: str) -> str:
    """Return a text with newlines as its only line ends, as Python reads text files."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def not_utf8(byte: int, location: Location) -> InputError:
    """Return the error of a byte that is not of a text in UTF-8."""
    return InputError(f"is not UTF-8 text (byte {byte})", location, "save the file as UTF-8")


def too_long(most: int, location: Location) -> InputError:
    """Return the error of a content of more than most bytes."""
    return InputError(f"is larger than {most >> 20} MiB", location, "split it into several files")


def _refused(mode: int, location: Location) -> InputError:
    if stat.S_ISDIR(mode):
        return InputError("is a folder, not a file", location)
    kind = _KINDS.get(stat.S_IFMT(mode), "something else")
    return InputError(f"is {kind}, not a file", location, _STREAM_HINT)


def unreadable(error: OSError | ValueError, location: Location) -> InputError:
    """Return the error of a path that cannot be opened."""
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", location)
    if isinstance(error, OSError):
        return InputError(f"cannot be read: {error.strerror or error}", location)
    return InputError("is not a path: it holds a NUL byte or what no path can hold", location)
