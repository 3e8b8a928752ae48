"""A library's files, wherever they come from: a folder, an archive, a git checkout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.archives import read_archive, read_folder, unpack
from chartkit.network.downloads.checkout import is_checkout, read_checkout
from chartkit.network.downloads.download import checked_url
from chartkit.network.downloads.git_ssh import read_ssh
from chartkit.network.downloads.limits import Limits
from chartkit.network.downloads.lockfile import Lock, Origin, SourceKind, digest, digest_of_all
from chartkit.network.downloads.remote import (
    RemoteSource,
    download_pinned,
    fetch_repository,
    is_remote,
    read_remote,
)
from chartkit.network.http.urls import is_url, shown_source

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
