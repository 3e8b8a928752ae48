"""Puts folders and files in the place of others in one step, and keeps two writers apart.

Linux and macOS exchange two folders in one system call, so that a kill at any moment leaves the
old one or the new one. Where the file system cannot, the old folder is set aside under a name
that `repair` finds.

`write_together` writes files all or none. It keeps what the files were before in the user's cache,
where no file of a project can take its place; the next writer takes back what a killed one wrote.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path, PurePath
from typing import Final

from chartkit.atomic import clear, replacing
from chartkit.errors import InputError, system_errors
from chartkit.model import Json, Location

_AT_FDCWD = -100
_EXCHANGE = 2
_NEW = ".chartkit-new-"
_OLD = ".chartkit-old"
_LEFT = re.compile(rf"\.(.+)(?:{re.escape(_NEW)}[0-9a-f]+|{re.escape(_OLD)})\Z", re.DOTALL)
"""A folder that a writer left behind; its name contains the name of the folder that it was to
replace."""
_STORE: Final = "unfinished"
_BYTES: Final = "latin-1"
"""The encoding in which a journal has any bytes as text."""


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Holds a project folder against other renders; the system lets go when the process ends.
    Raises InputError where another process holds it."""
    handle = _open_for_lock(folder)
    try:
        try:
            _take(handle)
        except OSError:
            hint = "wait until it has ended"
            location = Location(str(folder))
            raise InputError("another render of this project is running", location, hint) from None
        yield
    finally:
        os.close(handle)


def is_free(folder: Path) -> bool:
    """Report whether a project folder is free of locks."""
    try:
        with lock(folder):
            return True
    except InputError:
        return False


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


def require_inside(path: Path, project: Path) -> None:
    """Raise InputError where a link on the way from a project to a path in it leads out of it.
    Links within the project are followed, and a path that is outside as it is written is where the
    user wants it."""
    top = Path(os.path.abspath(project))
    target = Path(os.path.abspath(path))
    if not target.is_relative_to(top):
        return
    inside = top.resolve()
    shown = project
    for part in target.relative_to(top).parts:
        top, shown = top / part, shown / part
        if top.is_symlink() and not _resolved(top, shown).is_relative_to(inside):
            what = f"is a link that leads out of the project, to {os.readlink(top)}"
            hint = "put a folder there, or name the other place in chartkit.yaml"
            raise InputError(what, Location(str(shown)), hint)


def _resolved(link: Path, shown: Path) -> Path:
    try:
        # From Python 3.13 on, only this finds links that lead to each other.
        os.stat(link)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError("is a broken link", Location(str(shown))) from None
    return link.resolve()


@contextlib.contextmanager
def replaced(folder: Path, project: Path | None = None) -> Iterator[Path]:
    """An empty folder to be filled, which then takes the place of another in one step.

    project: whose folder it is, which no link may lead out of; None for one that the user names.
    What a killed run left is cleared first; where filling fails nothing is replaced. Raises
    InputError where the folder cannot be written.
    """
    with system_errors("cannot be written", folder):
        if project is not None:
            require_inside(folder, project)
        target = _resolved(folder, folder)
        repair(target)
        new = new_folder(target)
        try:
            yield new
            if project is not None:
                require_inside(folder, project)
            replace_folder(new, target)
        finally:
            shutil.rmtree(new, ignore_errors=True)


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
        aside = target.parent / f".{target.name}{_OLD}"
        target.rename(aside)
        new.rename(target)
        new = aside
    shutil.rmtree(new)


def repair(target: Path) -> None:
    """Clears what a killed run left beside target; brings back a folder that was set aside."""
    for left in left_behind(target.parent):
        if _meant(left) == target.name:
            _repair(left, target)


def repair_all(parent: Path) -> None:
    """The same for every folder in another; raises InputError where that cannot be done."""
    for left in left_behind(parent):
        with system_errors("cannot be cleared", left):
            _repair(left, parent / _meant(left))


def left_behind(parent: Path) -> list[Path]:
    """The hidden folders in another that writers which were killed left, or are filling now."""
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [parent / name for name in sorted(names) if _LEFT.match(name)]


def _meant(left: Path) -> str:
    match = _LEFT.match(left.name)
    return match[1] if match else ""


def _repair(left: Path, target: Path) -> None:
    if left.name.endswith(_OLD) and not target.exists():
        left.rename(target)
    else:
        shutil.rmtree(left)


def _exchange(this: Path, other: Path) -> bool:
    """Exchanges two folders in one system call; false where that cannot be done."""
    if os.name != "posix":
        return False
    first, second = os.fsencode(this), os.fsencode(other)
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        return bool(library.renamex_np(first, second, _EXCHANGE) == 0)
    if not hasattr(library, "renameat2"):
        return False
    return bool(library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE) == 0)


def leads_out(name: str) -> bool:
    """Report whether a path leads out of the folder that it starts at."""
    path = PurePath(name)
    return bool(path.anchor) or ".." in path.parts


def path_below(folder: Path, name: str) -> Path:
    """Return the path of a file below a folder; raise InputError for one that leads out of it."""
    if leads_out(name):
        raise InputError(f"the path '{name}' leads out of its folder", Location(str(folder)))
    return folder / name


def write_below(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their paths below a folder, with line feeds as line ends; raise InputError for
    a path that leads out of it, and OSError."""
    for name, content in files.items():
        file = path_below(folder, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


def write_together(texts: Mapping[Path, str | None]) -> None:
    """Write files, and remove those without a text, all of them or none; raise InputError for the
    first for which that is not possible.

    Every text is on the disk before the first file is replaced, and an interrupt puts back what was
    replaced before it. Links are followed, and folders made.
    """
    with _journal(texts), contextlib.ExitStack() as undo:
        with contextlib.ExitStack() as staged:
            ready = [_staged(path, text, staged, undo) for path, text in texts.items()]
            for path, (target, replace) in zip(texts, ready, strict=True):
                with system_errors("cannot be written", path):
                    undo.callback(_restore, target, _content(target))
                    replace.close()
        undo.pop_all()


def take_back(roots: Iterable[Path]) -> list[Path]:
    """Put back the files below some paths that a killed writer replaced, if they are as it wrote
    them, and remove what it left beside them; return those that were put back."""
    from chartkit.cache_folder import Store

    tops = [root.resolve() for root in roots]
    store = Store(_STORE)
    paths: list[Path] = []
    for key in store.all_keys():
        entries = [*_entries(store.load(key))]
        if not any(target.is_relative_to(top) for target, _, _ in entries for top in tops):
            continue
        for target, before, after in entries:
            clear(target)
            if before != (now := _content(target)) and _digest(now) == after:
                _restore(target, before)
                paths.append(target)
        store.remove(key)
    return paths


@contextlib.contextmanager
def _journal(texts: Mapping[Path, str | None]) -> Iterator[None]:
    """Keep what files are before they are written, until they are written or put back; one file is
    replaced in one step and needs no journal."""
    if len(texts) < 2:
        yield
        return
    from chartkit.cache_folder import Store, digest_of

    files: dict[str, Json] = {}
    for path, text in texts.items():
        target = path if text is None else path.resolve()
        with system_errors("cannot be written", path):
            before = _content(target)
        kept = None if before is None else before.decode(_BYTES)
        after = None if text is None else text.encode("utf-8")
        files[str(target.absolute())] = [kept, _digest(after)]
    store, key = Store(_STORE), digest_of(sorted(files))
    store.save(key, files)
    try:
        yield
    finally:
        store.remove(key)


def _entries(journal: Json) -> Iterator[tuple[Path, bytes | None, str | None]]:
    """Yield the files of a journal, each with its content before and the digest of that after."""
    for name, (before, after) in journal.items() if isinstance(journal, dict) else ():
        yield Path(name), None if before is None else before.encode(_BYTES), after


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _staged(
    path: Path, text: str | None, staged: contextlib.ExitStack, undo: contextlib.ExitStack
) -> tuple[Path, contextlib.ExitStack]:
    """Write a text next to its file; return the file, and what replaces or removes it when it is
    closed. undo: removes the folders that are made."""
    if text is None:
        remove = staged.enter_context(contextlib.ExitStack())
        remove.push(lambda error, *_: None if error else path.unlink(missing_ok=True))
        return path, remove
    with system_errors("cannot be written", path):
        target = path.resolve()
        above = (target.parent, *target.parent.parents)
        missing = [*takewhile(lambda folder: not folder.exists(), above)]
        for folder in reversed(missing):
            undo.callback(_remove_empty, folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        replace = staged.enter_context(contextlib.ExitStack())
        file = replace.enter_context(replacing(target))
        file.write(text.encode("utf-8"))
        file.flush()
    return target, replace


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _restore(target: Path, before: bytes | None) -> None:
    with contextlib.suppress(OSError):
        if before is None:
            target.unlink()
        elif _content(target) != before:
            with replacing(target) as file:
                file.write(before)
