"""Whole libraries in `vendor/`: taken in one step, locked, and compared with what they were."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.catalog.cache import RECENT
from chartkit.catalog.index import IndexedLibrary, index_files, read_index
from chartkit.catalog.libraries import libraries, vendored
from chartkit.catalog.vendoring.sources import SourceFiles, default_name, take
from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.limits import DEFAULT, Limits
from chartkit.network.downloads.lockfile import CHARTS, VENDOR, Lock, SourceKind, read_lock
from chartkit.network.downloads.vendored_folder import (
    from_project,
    held,
    publish,
    require_unchanged,
)
from chartkit.network.http.urls import shown_source
from chartkit.suggestions import did_you_mean, nearest

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class VendoredLibrary:
    """A library in its place: name, folder, what it holds, and its lock."""

    name: str
    folder: Path
    indexed: IndexedLibrary
    lock: Lock


@dataclass(frozen=True, slots=True)
class Update:
    """An update of a library.

    before, after: its policies; lock: that of now; old: its files of now by path; taken: what was
    found at its source.
    """

    name: str
    folder: Path
    lock: Lock
    old: Mapping[str, bytes]
    taken: SourceFiles
    before: IndexedLibrary
    after: IndexedLibrary

    @property
    def is_nothing(self) -> bool:
        """True if every file and the source are the same as before."""
        new, old = self.taken.origin, self.lock.origin
        moved = (new.kind, new.location, new.ref) != (old.kind, old.location, old.ref)
        return not moved and self.taken.lock().files == self.lock.files


def vendor(
    source: str, project: Path, name: str = "", ref: str = "", limits: Limits = DEFAULT
) -> VendoredLibrary:
    """Takes a library into `vendor/`; raises InputError, and then nothing was written.

    source, ref: see `sources.take`, but that a path starts at the current folder;
    name: empty for what the source suggests.
    """
    chosen = _free_name(name or default_name(source), source, project)
    taken = take(from_project(source, project), ref, project, limits)
    folder = project / VENDOR / chosen
    indexed = _indexed(chosen, folder, taken)
    with held(project):
        _require_free(chosen, folder)
        publish(folder, taken.files, taken.lock(), project)
    _remember(chosen, folder)
    return VendoredLibrary(chosen, folder, indexed, taken.lock())


def plan_update(
    name: str, project: Path, source: str = "", ref: str = "", limits: Limits = DEFAULT
) -> Update:
    """Looks at a library's source again; nothing is written. Raises InputError.

    source, ref: other ones from now on; empty for those of the lock file.
    """
    folder = project / VENDOR / name
    lock = read_lock(folder)
    require_unchanged(folder)
    origin = lock.origin
    given = from_project(source, project) if source else origin.location
    taken = take(given, ref or ("" if source else origin.ref), project, limits)
    old = {each: (folder / each).read_bytes() for each in lock.files}
    before = index_files(name, folder, old)
    return Update(name, folder, lock, old, taken, before, _indexed(name, folder, taken))


def apply_update(update: Update, project: Path) -> None:
    """Puts the new files in the place of the old ones, in one step; raises InputError."""
    with held(project):
        if read_lock(update.folder) != update.lock:
            raise InputError("was updated by another process", Location(str(update.folder)))
        require_unchanged(update.folder)
        publish(update.folder, update.taken.files, update.taken.lock(), project)
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


def _indexed(name: str, folder: Path, taken: SourceFiles) -> IndexedLibrary:
    indexed = index_files(name, folder, taken.files)
    if not indexed.entries:
        place = Location(taken.origin.shown)
        first = f"; {indexed.problems[0]}" if indexed.problems else ""
        hint = "a library is folders with policies of Kyverno in YAML files"
        raise InputError(f"holds no policy{first}", place, hint)
    return indexed


def _free_name(name: str, source: str, project: Path) -> str:
    if not _NAME.fullmatch(name) or name == CHARTS:
        hint = "give one by --name: lower-case letters, digits, '-' and '.'"
        place = Location(shown_source(source))
        raise InputError(f"'{name}' cannot be the name of a library", place, hint)
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


def _remember(name: str, folder: Path) -> None:
    """Has the index read a library, so that the first search need not; what was written a moment
    ago is not remembered."""
    time.sleep(RECENT / 1e9)
    read_index(name, folder)


def source_text(lock: Lock) -> str:
    """Return the source of a library as text."""
    origin = lock.origin
    revision = origin.revision[:12]
    at = f"{origin.ref} ({revision})" if origin.ref else revision
    return f"{origin.shown} at {at}" if origin.kind is SourceKind.GIT else origin.shown
