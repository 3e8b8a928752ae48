"""Files that appear whole or not at all.

A writer fills a hidden file next to the one that is meant, and holds a lock on it meanwhile. What
a killed writer left has no lock any more: the next writer of the same file clears it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

_MARK: Final = ".chartkit-"
_REST: Final = re.compile(r"[0-9a-f]{8}\Z")
_LONGEST: Final = 200
"""Bytes of a name; file systems take 255."""

if sys.platform == "win32":

    def _take(_handle: int) -> None:
        """Nothing: Windows removes no file that is open."""
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of path when the block ends, unless by an error.

    mode: of a file that was not there; what is there keeps its own. Raises OSError.
    """
    clear(path)
    temporary, file = _created(path, mode)
    try:
        with file:
            yield file
            file.flush()
            if path.is_file():
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            if sys.platform == "win32":
                file.close()
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _created(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """Return a new file next to path, locked."""
    while True:
        temporary = path.with_name(f"{_prefix(path)}{uuid.uuid4().hex[:8]}")
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        file = os.fdopen(handle, "wb")
        if _is_held(temporary, handle):
            return temporary, file
        file.close()


def _is_held(path: Path, handle: int) -> bool:
    """Lock a new file; false where another writer has cleared it before."""
    try:
        _take(handle)
        found, own = os.stat(path), os.fstat(handle)
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return True  # a file system without locks, on which nothing is cleared
    return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)


def clear(path: Path) -> None:
    """Remove what killed writers of a file left next to it, as far as that can be done."""
    prefix = _prefix(path)
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            name = entry.name
            is_ours = name.startswith(prefix) and _REST.fullmatch(name[len(prefix) :])
            if is_ours and entry.is_file(follow_symlinks=False):
                _remove(Path(entry.path))


def _remove(left: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(left, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            _take(handle)
            if sys.platform != "win32":
                left.unlink()
        finally:
            os.close(handle)
        if sys.platform == "win32":
            left.unlink()


def _prefix(path: Path) -> str:
    name = os.fsencode(path.name)[:_LONGEST].decode("utf-8", "ignore")
    return f".{name}{_MARK}"
