"""A library's files, wherever they come from: a folder, an archive, a git checkout."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.catalog.archives import unpack
from chartkit.catalog.checkout import is_checkout, read_checkout
from chartkit.catalog.download import download, is_url, split_url
from chartkit.catalog.limits import Limits
from chartkit.catalog.lockfile import Lock, Origin, SourceKind, digest, digest_of_all
from chartkit.catalog.paths import Collected, checked_name, is_left_out
from chartkit.errors import InputError
from chartkit.model import Location

_SUFFIX: Final = re.compile(r"\.(tar\.gz|tgz|zip|git)$", re.IGNORECASE)
_ARCHIVE: Final = "/archive/"
_UNNAMEABLE: Final = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class Taken:
    """A library as it was found: where, and its files by path."""

    origin: Origin
    files: dict[str, bytes]

    def lock(self) -> Lock:
        """What its lock file says."""
        return Lock(self.origin, {name: digest(content) for name, content in self.files.items()})


def take(source: str, ref: str, project: Path, limits: Limits) -> Taken:
    """Reads a library; raises InputError.

    source: a URL of an archive, or the path of an archive, a folder or a git checkout; ref: a
    branch, tag or commit of a checkout; project: what paths start at that are not absolute.
    """
    if is_url(source):
        _no_ref(ref, source)
        content = download(source, limits)
        origin = Origin(SourceKind.ARCHIVE, source, "", digest(content))
        return Taken(origin, unpack(content, source, limits))
    path = project / source
    if path.is_dir() and is_checkout(path):
        commit, files = read_checkout(path, ref, limits)
        return Taken(Origin(SourceKind.GIT, source, ref, commit), files)
    _no_ref(ref, source)
    if path.is_dir():
        files = _folder(path, limits)
        revision = digest_of_all({name: digest(content) for name, content in files.items()})
        return Taken(Origin(SourceKind.FOLDER, source, "", revision), files)
    content = _archive_file(path, source, limits)
    origin = Origin(SourceKind.ARCHIVE, source, "", digest(content))
    return Taken(origin, unpack(content, source, limits))


def default_name(source: str) -> str:
    """A library's name as its source suggests it; may be empty."""
    path = split_url(source).path if is_url(source) else Path(source).resolve().as_posix()
    before, found, _ = path.partition(_ARCHIVE)
    last = (before if found and is_url(source) else path).rstrip("/").rpartition("/")[2]
    return _UNNAMEABLE.sub("-", _SUFFIX.sub("", last).lower()).strip(".-")


def _no_ref(ref: str, source: str) -> None:
    if ref:
        raise InputError("a ref is for a git checkout", Location(source), "leave --ref out")


def _archive_file(path: Path, source: str, limits: Limits) -> bytes:
    try:
        if path.stat().st_size > limits.archive:
            raise InputError(f"is larger than {limits.archive:,} bytes", Location(source))
        return path.read_bytes()
    except FileNotFoundError:
        hint = "give a folder, a git checkout, or an archive by its path or URL"
        raise InputError("no such file or folder", Location(source), hint) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", Location(source)) from None


def _folder(root: Path, limits: Limits) -> dict[str, bytes]:
    collected = Collected(str(root), limits)
    for count, entry in enumerate(_walk(root), 1):
        name = checked_name(Path(entry.path).relative_to(root).as_posix(), str(root))
        if is_left_out(name):
            continue
        if entry.is_symlink() or not entry.is_file(follow_symlinks=False):
            what = "a link" if entry.is_symlink() else "neither a file nor a folder"
            hint = "a library has plain files alone"
            raise InputError(f"'{name}' is {what}", Location(str(root)), hint)
        collected.announce(count, entry.stat(follow_symlinks=False).st_size)
        try:
            collected.add(name, Path(entry.path).read_bytes())
        except OSError as error:
            text = f"cannot be read: {error.strerror}"
            raise InputError(text, Location(entry.path)) from None
    return collected.finish()


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        text = f"cannot be read: {error.strerror}"
        raise InputError(text, Location(str(folder))) from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if not is_left_out(entry.name):
                yield from _walk(Path(entry.path))
        else:
            yield entry
