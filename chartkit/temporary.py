"""Temporary folders that a killed process leaves for the next one to clear.

Each folder is locked as long as its process lives: a folder without a lock is abandoned.
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

from chartkit.atomic import lock

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
        """Remove the folder and its contents."""
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
        """Do nothing: without locks the owner of a folder is unknown."""
else:

    def _locked(folder: str) -> int | None:
        """Return the handle of a folder that is locked until it is closed; None where the folder is
        another's, or gone, and -1 on a file system without locks."""
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return None
        if held := lock(folder, handle):
            return handle
        os.close(handle)
        return -1 if held is None else None

    @cache
    def _clear(parent: str) -> None:
        """Remove what killed processes of this user left, as far as that can be done."""
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                is_ours = _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
                if not is_ours or entry.stat(follow_symlinks=False).st_uid != os.geteuid():
                    continue
                handle = _locked(entry.path)
                if handle is not None and handle >= 0:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(handle)
