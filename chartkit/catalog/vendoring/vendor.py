"""Whole libraries in `vendor/`: taken in one step, locked, and compared with what they were."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.catalog.index import RECENT, IndexedLibrary, index_files, read_index
from chartkit.catalog.libraries import libraries, vendored
from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.archives import read_archive, read_folder, unpack
from chartkit.network.downloads.checkout import is_checkout, read_checkout
from chartkit.network.downloads.download import checked_url
from chartkit.network.downloads.git_ssh import read_ssh
from chartkit.network.downloads.limits import DEFAULT, Limits
from chartkit.network.downloads.lockfile import (
    CHARTS,
    VENDOR,
    Lock,
    Origin,
    SourceKind,
    digest,
    digest_of_all,
    read_lock,
)
from chartkit.network.downloads.remote import (
    RemoteSource,
    download_pinned,
    fetch_repository,
    is_remote,
    read_remote,
)
from chartkit.network.downloads.vendored_folder import (
    from_project,
    held,
    publish,
    require_unchanged,
)
from chartkit.network.http.urls import is_url, shown_source
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


_SUFFIX: Final = re.compile(r"\.(tar\.gz|tgz|zip|git)$", re.IGNORECASE)
_ARCHIVE: Final = "/archive/"
_UNNAMEABLE: Final = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """A library as it was found: where, and its files by path."""

    origin: Origin
    files: dict[str, bytes]

    def lock(self) -> Lock:
        """Its lock file."""
        return Lock(self.origin, {name: digest(content) for name, content in self.files.items()})


def take(source: str, ref: str, project: Path, limits: Limits) -> SourceFiles:
    """Reads a library; raises InputError.

    source: a URL of an archive or of a git repository (see `downloads.remote`), or the path of an
    archive, a folder or a git checkout; ref: a branch, tag or commit of a repository; project:
    what paths start at that are not absolute.
    """
    if is_remote(source):
        remote = read_remote(source)
        if remote.is_git:
            return _of_repository(remote, ref or remote.ref, source, limits)
        _no_ref(ref, source)
        content = download_pinned(remote, limits)
        origin = Origin(SourceKind.ARCHIVE, source, "", digest(content))
        files = strip_root(unpack(content, shown_source(source), limits))
        return SourceFiles(origin, _below(remote, files))
    path = project / source
    if path.is_dir() and is_checkout(path):
        commit, files = read_checkout(path, ref, limits)
        return SourceFiles(Origin(SourceKind.GIT, source, ref, commit), files)
    _no_ref(ref, source)
    if path.is_dir():
        files = read_folder(path, limits)
        revision = digest_of_all({name: digest(content) for name, content in files.items()})
        return SourceFiles(Origin(SourceKind.FOLDER, source, "", revision), files)
    content = read_archive(path, source, limits)
    origin = Origin(SourceKind.ARCHIVE, source, "", digest(content))
    return SourceFiles(origin, strip_root(unpack(content, source, limits)))


def _of_repository(remote: RemoteSource, ref: str, source: str, limits: Limits) -> SourceFiles:
    commit, files = fetch_repository(remote, ref, limits)
    location = source.partition("?")[0]
    return SourceFiles(Origin(SourceKind.GIT, location, ref, commit), _below(remote, files))


def _below(remote: RemoteSource, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of the folder that a URL names, all without one."""
    start = f"{remote.path}/" if remote.path else ""
    found = {name[len(start) :]: each for name, each in files.items() if name.startswith(start)}
    if not found:
        message = f"there is no folder '{remote.path}' in it" if start else "holds no file"
        raise InputError(message, Location(remote.shown))
    return found


def default_name(source: str) -> str:
    """A library's name as its source suggests it; may be empty."""
    if is_remote(source):
        remote = read_remote(source)
        url = read_ssh(remote.url).path if remote.is_ssh else remote.url
        source = f"{url}/{remote.path}" if remote.path else url
    path = checked_url(source).path if is_url(source) else Path(source).resolve().as_posix()
    before, found, _ = path.partition(_ARCHIVE)
    last = (before if found and is_url(source) else path).rstrip("/").rpartition("/")[2]
    return _UNNAMEABLE.sub("-", _SUFFIX.sub("", last).lower()).strip(".-")


def _no_ref(ref: str, source: str) -> None:
    if ref:
        place = Location(shown_source(source))
        raise InputError("a ref is for a git checkout", place, "leave --ref out")


def strip_root(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files without the one folder that archives wrap around a library.

    It is kept where it is a category: where below it a folder is a policy.
    """
    tops = {name.partition("/")[0] for name in files}
    inner = {name.partition("/")[2]: content for name, content in files.items()}
    if len(tops) != 1 or "" in inner or not _has_categories(inner):
        return dict(files)
    return inner


def _has_categories(names: Iterable[str]) -> bool:
    """Return whether a file is as deep as a category's policies."""
    return any(
        name.count("/") >= 2 and not any(part.startswith(".") for part in name.split("/"))
        for name in names
    )
