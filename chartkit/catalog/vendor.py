"""Whole libraries in `vendor/`: taken in one step, locked, and compared with what they were."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.catalog.cache import RECENT
from chartkit.catalog.download import is_url
from chartkit.catalog.index import Indexed, index_files, read_index
from chartkit.catalog.libraries import VENDOR, libraries, vendored
from chartkit.catalog.limits import DEFAULT, Limits
from chartkit.catalog.lockfile import LOCK_FILE, Lock, SourceKind, digest, lock_text, read_lock
from chartkit.catalog.search import did_you_mean, nearest
from chartkit.catalog.sources import Taken, default_name, take
from chartkit.chart import swap
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Location, Severity

RULE_CHANGED: Final = "CK501"
"""A file of a vendored library is not as the lock file has it."""
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Vendored:
    """A library in its place: name, folder, what it holds, and its lock."""

    name: str
    folder: Path
    indexed: Indexed
    lock: Lock


@dataclass(frozen=True, slots=True)
class Update:
    """What a library would become.

    before, after: its policies; lock: that of now; old: its files of now by path; taken: what was
    found at its source.
    """

    name: str
    folder: Path
    lock: Lock
    old: Mapping[str, bytes]
    taken: Taken
    before: Indexed
    after: Indexed

    @property
    def is_nothing(self) -> bool:
        """Whether every file is as it was, and comes from where it came from."""
        new, old = self.taken.origin, self.lock.origin
        moved = (new.kind, new.location, new.ref) != (old.kind, old.location, old.ref)
        return not moved and self.taken.lock().files == self.lock.files


def vendor(
    source: str, project: Path, name: str = "", ref: str = "", limits: Limits = DEFAULT
) -> Vendored:
    """Takes a library into `vendor/`; raises InputError, and then nothing was written.

    source, ref: see `chartkit.catalog.sources.take`, but that a path starts at the current folder;
    name: empty for what the source suggests.
    """
    chosen = _free_name(name or default_name(source), source, project)
    taken = take(_from_project(source, project), ref, project, limits)
    folder = project / VENDOR / chosen
    indexed = _indexed(chosen, folder, taken)
    with _held(project):
        _require_free(chosen, folder)
        _publish(folder, taken)
    _remember(chosen, folder)
    return Vendored(chosen, folder, indexed, taken.lock())


def plan_update(
    name: str, project: Path, source: str = "", ref: str = "", limits: Limits = DEFAULT
) -> Update:
    """Looks at a library's source again; nothing is written. Raises InputError.

    source, ref: other ones from now on; empty for those of the lock file.
    """
    folder = project / VENDOR / name
    lock = read_lock(folder)
    _require_unchanged(folder)
    origin = lock.origin
    given = _from_project(source, project) if source else origin.location
    taken = take(given, ref or ("" if source else origin.ref), project, limits)
    old = {each: (folder / each).read_bytes() for each in lock.files}
    before = index_files(name, folder, old)
    return Update(name, folder, lock, old, taken, before, _indexed(name, folder, taken))


def apply_update(update: Update, project: Path) -> None:
    """Puts the new files in the place of the old ones, in one step; raises InputError."""
    with _held(project):
        if read_lock(update.folder) != update.lock:
            raise InputError("was updated by another process", Location(str(update.folder)))
        _require_unchanged(update.folder)
        _publish(update.folder, update.taken)
    _remember(update.name, update.folder)


def vendored_names(name: str | None, project: Path) -> list[str]:
    """The vendored library of a name, or all of them; raises InputError for one that is not
    there."""
    known = [folder.name for folder in vendored(project)]
    if name is None:
        return known
    if name not in known:
        listed = f"vendored are {', '.join(known)}" if known else "nothing is vendored"
        hint = did_you_mean(nearest(name, known)) or listed
        raise InputError(f"there is no vendored library '{name}'", hint=hint)
    return [name]


def verify(folder: Path) -> list[Diagnostic]:
    """Where a vendored library is not as its lock file has it; raises InputError for the lock."""
    locked = read_lock(folder).files
    there = dict(_files(folder))
    found: list[Diagnostic] = []
    for name in sorted({*locked, *there}):
        if name not in there:
            message = "is missing"
        elif there[name] is None:
            message = "is a link, or no file"
        elif name not in locked:
            message = "was not vendored"
        elif there[name] != locked[name]:
            message = "was changed since it was vendored"
        else:
            continue
        hint = "put it back, or remove the library and vendor it anew"
        place = Location(str(folder / name))
        found.append(Diagnostic(RULE_CHANGED, Severity.ERROR, message, place, hint))
    return found


def _files(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Files by path with their digests, None for what is no plain file; without the lock file."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            yield name, None
        elif path.is_file() and name != LOCK_FILE:
            yield name, digest(path.read_bytes())


def _require_unchanged(folder: Path) -> None:
    found = verify(folder)
    if found:
        first = found[0]
        more = f"; and {len(found) - 1} more of the kind" if len(found) > 1 else ""
        raise InputError(first.message, first.location, f"{first.hint}{more}")


def _indexed(name: str, folder: Path, taken: Taken) -> Indexed:
    indexed = index_files(name, folder, taken.files)
    if not indexed.entries:
        place = Location(taken.origin.location)
        first = f"; {indexed.problems[0]}" if indexed.problems else ""
        hint = "a library is folders with policies of Kyverno in YAML files"
        raise InputError(f"holds no policy{first}", place, hint)
    return indexed


def _free_name(name: str, source: str, project: Path) -> str:
    if not _NAME.fullmatch(name):
        hint = "give one by --name: lower-case letters, digits, '-' and '.'"
        raise InputError(f"'{name}' cannot be the name of a library", Location(source), hint)
    taken = [each for each in libraries(project) if each.name == name and not each.vendored]
    if taken:
        what = f"there is a library '{name}' already"
        raise InputError(what, Location(str(taken[0].root)), "give another name by --name")
    folder = project / VENDOR / name
    _require_free(name, folder)
    return name


def _require_free(name: str, folder: Path) -> None:
    if folder.exists() or folder.is_symlink():
        hint = f"`chartkit policies update {name}` looks for changes; or give another --name"
        raise InputError("is there already", Location(str(folder)), hint)


def _from_project(source: str, project: Path) -> str:
    """A source as the lock file has it: paths start at the project, so that it may be moved."""
    if is_url(source) or Path(source).is_absolute():
        return source
    return Path(os.path.relpath(source, project)).as_posix()


@contextlib.contextmanager
def _held(project: Path) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(swap.lock(project))
        except InputError as error:
            what = "another chartkit writes to this project"
            raise InputError(what, error.location, error.hint) from None
        yield


def _publish(folder: Path, taken: Taken) -> None:
    target = folder.resolve()
    try:
        swap.repair(target)
        new = swap.new_folder(target)
        try:
            for name, content in taken.files.items():
                file = new / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            (new / LOCK_FILE).write_text(lock_text(taken.lock()), "utf-8", newline="\n")
            swap.replace_folder(new, target)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise InputError(what, Location(str(folder))) from None


def _remember(name: str, folder: Path) -> None:
    """Has the index read a library, so that the first search need not; what was written a moment
    ago is not remembered."""
    time.sleep(RECENT / 1e9)
    read_index(name, folder)


def source_text(lock: Lock) -> str:
    """Where a library comes from, for people."""
    origin = lock.origin
    revision = origin.revision[:12]
    at = f"{origin.ref} ({revision})" if origin.ref else revision
    return f"{origin.location} at {at}" if origin.kind is SourceKind.GIT else origin.location
