"""Puts a folder in the place of another in one step, and keeps two writers apart.

Linux and macOS exchange two folders in one system call, so that a kill at any moment leaves the
old one or the new one. Where the file system cannot, the old folder is set aside under a name
that `repair` finds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from chartkit.errors import InputError
from chartkit.model import Location

_AT_FDCWD = -100
_EXCHANGE = 2
_NEW = ".chartkit-new-"
_OLD = ".chartkit-old"


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Holds a project folder against other renders; the system lets go when the process ends.

    Raises InputError where another process holds it.
    """
    handle = _open_for_lock(folder)
    try:
        try:
            _take(handle)
        except OSError:
            hint = "wait until it has ended"
            place = Location(str(folder))
            raise InputError("another render of this project is running", place, hint) from None
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _open_for_lock(folder: Path) -> int:
        return os.open(folder / ".chartkit.lock", os.O_CREAT | os.O_RDWR)

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _open_for_lock(folder: Path) -> int:
        return os.open(folder, os.O_RDONLY)

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """An empty folder to be filled, which then takes the place of another in one step.

    What a killed run left is cleared first; where filling fails nothing is replaced. Raises
    InputError where the folder cannot be written.
    """
    try:
        target = folder.resolve()
        repair(target)
        new = new_folder(target)
        try:
            yield new
            replace_folder(new, target)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise InputError(what, Location(str(folder))) from None


def new_folder(target: Path) -> Path:
    """An empty folder beside target, on the same file system, to be filled and put in its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = target.parent / f".{target.name}{_NEW}{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    return folder


def replace_folder(new: Path, target: Path) -> None:
    """Puts new in the place of target, and removes what stood there."""
    if not target.exists():
        new.rename(target)
        return
    if not _exchange(new, target):
        aside = _aside(target)
        target.rename(aside)
        new.rename(target)
        new = aside
    shutil.rmtree(new)


def repair(target: Path) -> None:
    """Clears what a killed run left beside target; brings back a folder that was set aside."""
    aside = _aside(target)
    if aside.exists():
        if target.exists():
            shutil.rmtree(aside)
        else:
            aside.rename(target)
    for left in target.parent.glob(f".{target.name}{_NEW}*"):
        shutil.rmtree(left)


def _aside(target: Path) -> Path:
    return target.parent / f".{target.name}{_OLD}"


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders in one system call; false where that cannot be done."""
    if os.name != "posix":
        return False
    first, second = os.fsencode(one), os.fsencode(other)
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        return bool(library.renamex_np(first, second, _EXCHANGE) == 0)
    if not hasattr(library, "renameat2"):
        return False
    return bool(library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE) == 0)
