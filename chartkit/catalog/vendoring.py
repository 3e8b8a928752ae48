"""Whole policy libraries taken into `vendor/`, locked, and updated with a report of the changes."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit.catalog.entries import (
    RECENT,
    IndexedLibrary,
    index_files,
    libraries,
    read_index,
    vendored,
)
from chartkit.catalog.model import Entry
from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.checkout import is_checkout, read_checkout
from chartkit.network.downloads.download import checked_url, read_archive, read_folder, unpack
from chartkit.network.downloads.git import read_ssh
from chartkit.network.downloads.lockfile import (
    CHARTS,
    DEFAULT,
    VENDOR,
    Limits,
    Lock,
    Origin,
    SourceKind,
    digest,
    digest_of_all,
    from_project,
    held,
    publish,
    read_lock,
    require_unchanged,
)
from chartkit.network.downloads.remote import (
    RemoteSource,
    download_pinned,
    fetch_repository,
    is_remote,
    read_remote,
)
from chartkit.network.http.urls import is_url, shown_source
from chartkit.suggestions import did_you_mean, nearest
from chartkit.wording import counted

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
_SUFFIX: Final = re.compile(r"\.(tar\.gz|tgz|zip|git)$", re.IGNORECASE)
_ARCHIVE: Final = "/archive/"
_UNNAMEABLE: Final = re.compile(r"[^a-z0-9.-]+")
_TRAITS: Final = ("name", "title", "category", "severity", "subjects", "kinds", "forms", "minimum")


@dataclass(frozen=True, slots=True)
class VendoredLibrary:
    """A library in its place: name, folder, what it holds, and its lock."""

    name: str
    folder: Path
    indexed: IndexedLibrary
    lock: Lock


@dataclass(frozen=True, slots=True)
class Update:
    """An update of a library. before, after: its policies; lock: the lock file as it is now; old:
    its present files by path; taken: what was found at its source."""

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
    """Copy a library into `vendor/`; raises InputError, and then nothing was written. source, ref:
    see `sources.take`, but a path starts at the current folder; name: empty for the one that the
    source suggests."""
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
    """Read a library's source again; nothing is written. Raises InputError. source, ref:
    replacements for the lock file's; empty to keep them."""
    folder = project / VENDOR / name
    lock = read_lock(folder)
    require_unchanged(folder)
    origin = lock.origin
    given = from_project(source, project) if source else origin.location
    taken = take(given, ref or ("" if source else origin.ref), project, limits)
    old = {file: (folder / file).read_bytes() for file in lock.files}
    before = index_files(name, folder, old)
    return Update(name, folder, lock, old, taken, before, _indexed(name, folder, taken))


def apply_update(update: Update, project: Path) -> None:
    """Replace the old files by the new ones, in one step; raises InputError."""
    with held(project):
        if read_lock(update.folder) != update.lock:
            raise InputError("was updated by another process", Location(str(update.folder)))
        require_unchanged(update.folder)
        publish(update.folder, update.taken.files, update.taken.lock(), project)
    _remember(update.name, update.folder)


def vendored_names(name: str | None, project: Path) -> list[str]:
    """The vendored library of a name, or all of them; raises InputError for a missing one."""
    names = [folder.name for folder in vendored(project)]
    if name is None:
        return names
    if name not in names:
        listed = f"vendored are {', '.join(names)}" if names else "nothing is vendored"
        hint = did_you_mean(nearest(name, names)) or listed
        raise InputError(f"there is no vendored library '{name}'", hint=hint)
    return [name]


def _indexed(name: str, folder: Path, taken: SourceFiles) -> IndexedLibrary:
    indexed = index_files(name, folder, taken.files)
    if not indexed.entries:
        location = Location(taken.origin.shown)
        first = f"; {indexed.problems[0]}" if indexed.problems else ""
        hint = "a library is folders with policies of Kyverno in YAML files"
        raise InputError(f"holds no policy{first}", location, hint)
    return indexed


def _free_name(name: str, source: str, project: Path) -> str:
    if not _NAME.fullmatch(name) or name == CHARTS:
        hint = "give one by --name: lower-case letters, digits, '-' and '.'"
        location = Location(shown_source(source))
        raise InputError(f"'{name}' cannot be the name of a library", location, hint)
    taken = [
        library for library in libraries(project) if library.name == name and not library.vendored
    ]
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
    """Has the index read a library, so that the first search need not."""
    time.sleep(RECENT / 1e9)
    read_index(name, folder)


def source_text(lock: Lock) -> str:
    """Return the source of a library as text."""
    origin = lock.origin
    revision = origin.revision[:12]
    at = f"{origin.ref} ({revision})" if origin.ref else revision
    return f"{origin.shown} at {at}" if origin.kind is SourceKind.GIT else origin.shown


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """A library as it was found: where, and its files by path."""

    origin: Origin
    files: dict[str, bytes]

    def lock(self) -> Lock:
        """Its lock file."""
        return Lock(self.origin, {name: digest(content) for name, content in self.files.items()})


def take(source: str, ref: str, project: Path, limits: Limits) -> SourceFiles:
    """Reads a library; raises InputError. source: a URL of an archive or of a git repository (see
    `downloads.remote`), or the path of an archive, a folder or a git checkout; ref: a branch, tag
    or commit of a repository; project: what paths start at that are not absolute."""
    if is_remote(source):
        remote = read_remote(source)
        if remote.is_git:
            ref = ref or remote.ref
            commit, files = fetch_repository(remote, ref, limits)
            origin = Origin(SourceKind.GIT, source.partition("?")[0], ref, commit)
            return SourceFiles(origin, _below(remote, files))
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


def _below(remote: RemoteSource, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of the folder that a URL names, all without one."""
    start = f"{remote.path}/" if remote.path else ""
    inner = {name[len(start) :]: data for name, data in files.items() if name.startswith(start)}
    if not inner:
        message = f"there is no folder '{remote.path}' in it" if start else "holds no file"
        raise InputError(message, Location(remote.shown))
    return inner


def default_name(source: str) -> str:
    """A library's name as its source suggests it; may be empty."""
    if is_remote(source):
        remote = read_remote(source)
        url = read_ssh(remote.url).path if remote.is_ssh else remote.url
        source = f"{url}/{remote.path}" if remote.path else url
    path = checked_url(source).path if is_url(source) else Path(source).resolve().as_posix()
    before, archive, _ = path.partition(_ARCHIVE)
    last = (before if archive and is_url(source) else path).rstrip("/").rpartition("/")[2]
    return _UNNAMEABLE.sub("-", _SUFFIX.sub("", last).lower()).strip(".-")


def _no_ref(ref: str, source: str) -> None:
    if ref:
        location = Location(shown_source(source))
        raise InputError("a ref is for a git checkout", location, "leave --ref out")


def strip_root(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files without the one folder that archives wrap around a library. It is kept where it is a
    category: where below it a folder is a policy."""
    tops = {name.partition("/")[0] for name in files}
    inner = {name.partition("/")[2]: content for name, content in files.items()}
    # A file is as deep as a category's policies.
    has_categories = any(
        name.count("/") >= 2 and not any(part.startswith(".") for part in name.split("/"))
        for name in inner
    )
    return inner if len(tops) == 1 and "" not in inner and has_categories else dict(files)


class ChangeType(StrEnum):
    """The type of a policy's change."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one policy in an update.

    traits: name, old and new value; files: what became of its files, by their path in the library,
    without the policy's own where that is new or gone; diff: of those files, unified.
    """

    reference: str
    what: ChangeType
    title: str
    traits: tuple[tuple[str, str, str], ...] = ()
    files: Mapping[str, ChangeType] | None = None
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """policies: in the order of their references; others: files that belong to no policy."""

    policies: tuple[Change, ...]
    others: Mapping[str, ChangeType]


def changes(update: Update) -> Changes:
    """Everything that an update would change."""
    old, new = update.old, update.taken.files
    files = {
        name: _what(name in old, name in new)
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    }
    before, after = _by_reference(update.before), _by_reference(update.after)
    owners = _Owners(update)
    owned: dict[str, dict[str, ChangeType]] = {}
    others: dict[str, ChangeType] = {}
    for name, what in files.items():
        owner = owners.of(name)
        if owner is None:
            others[name] = what
        else:
            owned.setdefault(owner, {})[name] = what
    policies = []
    for reference in sorted({*before, *after}):
        entry, other = before.get(reference), after.get(reference)
        touched = owned.get(reference, {})
        if entry is None or other is None or touched:
            newest = other or entry
            title = newest.title if newest is not None else ""
            what = _what(entry is not None, other is not None)
            traits: list[tuple[str, str, str]] = []
            if entry is not None and other is not None:
                for name in _TRAITS:
                    values = _shown(getattr(entry, name)), _shown(getattr(other, name))
                    if values[0] != values[1]:
                        traits.append((name, *values))
            diff = _diff(touched, update)
            policies.append(Change(reference, what, title, tuple(traits), touched, diff))
    return Changes(tuple(policies), others)


def _by_reference(indexed: IndexedLibrary) -> dict[str, Entry]:
    return {entry.reference: entry for entry in indexed.entries}


def _what(before: bool, after: bool) -> ChangeType:
    if before and after:
        return ChangeType.CHANGED
    return ChangeType.ADDED if after else ChangeType.REMOVED


class _Owners:
    """The policy of each file: the one that it holds, or the policy of the nearest folder."""

    def __init__(self, update: Update) -> None:
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        root = f"{update.folder}/"
        for entry in (*update.before.entries, *update.after.entries):
            file = entry.file.removeprefix(root)
            self._files[file] = entry.reference
            folder = file.rpartition("/")[0]
            if folder:
                self._folders[folder] = entry.reference

    def of(self, name: str) -> str | None:
        if name in self._files:
            return self._files[name]
        folder = name
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in self._folders:
                return self._folders[folder]
        return None


def _shown(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _diff(files: Mapping[str, ChangeType], update: Update) -> str:
    text = ""
    for name in files:
        old, new = update.old.get(name), update.taken.files.get(name)
        lines = difflib.unified_diff(
            _lines(old),
            _lines(new),
            "/dev/null" if old is None else f"a/{name}",
            "/dev/null" if new is None else f"b/{name}",
        )
        for line in lines:
            text += "".join(char if char.isprintable() else "�" for char in line.rstrip("\n"))
            text += "\n"
    return text


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").expandtabs().splitlines(keepends=True)


def as_text(changed: Changes, diffs: bool) -> Iterator[str]:
    """A line a policy, below it what changed; diffs: whether files' differences are shown."""
    for change in changed.policies:
        notes = [f"{name} {old or '-'} → {new or '-'}" for name, old, new in change.traits]
        if change.what is ChangeType.CHANGED:
            notes.append(_counted(change))
        about = "; ".join(notes) if notes else change.title
        yield f"  {change.what:8} {change.reference}: {about}"
        if diffs:
            yield from change.diff.splitlines()
    if changed.others:
        yield f"  and {counted(len(changed.others), 'file')} of no policy"


def _counted(change: Change) -> str:
    lines = [line for line in change.diff.splitlines() if not line.startswith(("+++", "---"))]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    names: Sequence[str] = list(change.files or ())
    tests = all(any(part.startswith(".") for part in name.split("/")) for name in names)
    what = f"+{added} -{removed} lines in {counted(len(names), 'file')}"
    return f"{what}, tests alone" if tests else what
