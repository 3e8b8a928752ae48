"""Files that are replaced as a whole.

A writer fills a hidden file next to the target and locks it meanwhile. The file of a killed writer
has no lock: the next writer of the same target removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

_MARK: Final = ".chartkit-"
_REST: Final = re.compile(r"[0-9a-f]{8}\Z")
_LONGEST: Final = 200
"""The greatest length of a name in bytes; file systems allow 255."""

if sys.platform == "win32":

    def _take(_handle: int) -> None:
        """Do nothing: Windows does not remove open files."""
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yield a file that replaces path when the block ends without an error.

    mode: for a new file; an existing one keeps its own. Raise OSError.
    """
    clear(path)
    temporary, file = _created(path, mode)
    try:
        yield file
        file.flush()
        if path.is_file():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        if sys.platform == "win32":
            file.close()
        os.replace(temporary, path)
        file.close()
    except OSError as error:
        error.filename = error.filename or str(path)  # A full disk names no file.
        raise
    finally:
        with contextlib.suppress(OSError):  # Closing writes again what could not be written.
            file.close()
        temporary.unlink(missing_ok=True)


def _created(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """Return a new file next to path, locked."""
    while True:
        temporary = path.with_name(f"{_prefix(path)}{os.urandom(4).hex()}")
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        file = os.fdopen(handle, "wb")
        # Without locks nothing is cleared.
        if lock(temporary, handle) is not False:
            return temporary, file
        file.close()


def lock(path: Path | str, handle: int) -> bool | None:
    """Lock an open file or folder until its handle is closed, which it is when the process ends.

    Return false if another process has it or has removed it, None on a file system without locks.
    """
    try:
        _take(handle)
        current, own = os.stat(path), os.fstat(handle)
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return None
    return (current.st_dev, current.st_ino) == (own.st_dev, own.st_ino)


def clear(path: Path) -> None:
    """Remove the files that killed writers left next to a target, as far as possible."""
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
