"""Temporary folders that a killed process leaves for the next one to clear.

Each folder is locked as long as its process lives: a folder without a lock is nobody's.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

_PREFIX: Final = "chartkit-run-"
_NAME: Final = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")


class TemporaryFolder:
    """A folder of this process, removed by `close` or when the process ends."""

    def __init__(self) -> None:
        parent = tempfile.gettempdir()
        _clear(parent)
        while True:
            self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
            self._lock = _locked(self._folder.name)
            if self._lock is not None:
                break
            # Another process found it before it had its lock.
            self._folder.cleanup()
        self.path = Path(self._folder.name)

    def close(self) -> None:
        """Remove the folder and what is in it."""
        self._folder.cleanup()
        lock, self._lock = self._lock, None
        if lock is not None and lock >= 0:
            os.close(lock)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder of this process that is removed when the block ends."""
    folder = TemporaryFolder()
    try:
        yield folder.path
    finally:
        folder.close()


if sys.platform == "win32":

    def _locked(_folder: str) -> int | None:
        """Return no handle: folders have no locks."""
        return -1

    def _clear(_parent: str) -> None:
        """Do nothing: without locks nobody knows whose a folder is."""
else:
    import fcntl

    def _locked(folder: str) -> int | None:
        """Lock a folder until the handle is closed, which it is when the process ends; None where
        it is another's, or gone, and -1 on a file system without locks."""
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found, own = os.stat(folder), os.fstat(handle)
        except (BlockingIOError, FileNotFoundError):
            os.close(handle)
            return None
        except OSError:
            os.close(handle)
            return -1
        if (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino):
            os.close(handle)
            return None
        return handle

    @cache
    def _clear(parent: str) -> None:
        """Remove what killed processes of this user left, as far as that can be done."""
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) and _is_own_folder(entry):
                    _remove(entry.path)

    def _is_own_folder(entry: os.DirEntry[str]) -> bool:
        if not entry.is_dir(follow_symlinks=False):
            return False
        return entry.stat(follow_symlinks=False).st_uid == os.geteuid()

    def _remove(folder: str) -> None:
        handle = _locked(folder)
        if handle is not None and handle >= 0:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)
