"""Every policy of a library, folder by folder; what did not change is not read again.

The cache between runs is one value a library in the user's cache folder, never with the library,
which others write. What it says of a folder counts only while every file there has the size and
times that it had: everything else is read anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Final

from chartkit import __version__
from chartkit.cache_folder import Store, digest_of
from chartkit.catalog.model import Entry
from chartkit.errors import system_errors
from chartkit.model import Json

SUFFIXES: Final = (".yaml", ".yml")
_OWN_FORMAT: Final = {"policy.yaml", "metadata.yaml"}
_CHART: Final = "Chart.yaml"
_LARGEST: Final = 2_000_000
"""Bytes: a larger file is not a policy that Kubernetes would take."""


@dataclass(frozen=True, slots=True)
class IndexedLibrary:
    """A library's policies in the order of their references.

    problems: files that could not be read, each with its place; digests: SHA-256 of the files
    that were looked at, by path below the library.
    """

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]
    digests: Mapping[str, str]


def read_index(name: str, root: Path) -> IndexedLibrary:
    """The policies at and below a folder; raises InputError where there is no such folder.

    name: the library's, for its entries. Hidden files and folders, Helm charts, and what stands
    below a policy of chartkit's format (its examples) are passed over.
    """
    resolved = root.resolve()
    read_at = time.time_ns()
    shape = [field.name for field in fields(Entry)]
    store, key = Store("catalog"), digest_of(__version__, shape, str(resolved))
    known = _known(store.load(key))
    units: dict[str, Unit] = {}
    for folder, stamps in _folders(resolved):
        unit = known.get(folder)
        if unit is None or unit.stamps != stamps:
            unit = _unit(folder, stamps, resolved)
        units[folder] = unit
    if units != known:
        old = read_at - RECENT
        settled = {
            name: asdict(unit)
            for name, unit in units.items()
            if all(max(stamp[1:]) < old for stamp in unit.stamps.values())
        }
        text = json.dumps(settled)
        store.save(key, [digest_of(text), text])
    return _indexed(name, root, units)


def index_files(name: str, root: Path, files: Mapping[str, bytes]) -> IndexedLibrary:
    """The policies of a library that is not on disk: the same as `read_index` gives of its files
    below root."""
    folders: dict[str, dict[str, bytes]] = {}
    for path in sorted(files):
        folder, _, file = path.rpartition("/")
        if file.endswith(SUFFIXES) and not any(part.startswith(".") for part in path.split("/")):
            folders.setdefault(folder, {})[file] = files[path]
    units: dict[str, Unit] = {}
    for folder, contents in folders.items():
        parents = [str(parent) for parent in PurePosixPath(folder).parents]
        above = [folders.get("" if parent == "." else parent, {}).keys() for parent in parents]
        if _CHART in contents or any(_CHART in keys or keys >= _OWN_FORMAT for keys in above):
            continue
        stamps = {file: (len(content), 0, 0) for file, content in contents.items()}
        units[folder] = _unit(folder, stamps, root, contents)
    return _indexed(name, root, units)


def _indexed(name: str, root: Path, units: Mapping[str, Unit]) -> IndexedLibrary:
    entries: dict[str, Entry] = {}
    problems = [problem for unit in units.values() for problem in unit.problems]
    for unit in units.values():
        for entry in unit.entries:
            here = entry.below(name, root)
            first = entries.setdefault(entry.reference, here)
            if first is not here:
                problems.append(f"{here.location}: is named as the policy at {first.location}")
    ordered = sorted(entries.values(), key=lambda entry: entry.reference)
    digests = {
        f"{folder}/{file}".lstrip("/"): digest
        for folder, unit in units.items()
        for file, digest in unit.digests.items()
    }
    return IndexedLibrary(tuple(ordered), tuple(problems), digests)


def _folders(root: Path) -> Iterator[tuple[str, dict[str, Stamp]]]:
    """Each folder that may hold a policy, and its files."""
    waiting = [("", str(root))]
    while waiting:
        name, path = waiting.pop()
        files: dict[str, Stamp] = {}
        folders: list[tuple[str, str]] = []
        with system_errors("cannot be read", path), os.scandir(path) as found:
            for entry in found:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append((f"{name}/{entry.name}".lstrip("/"), entry.path))
                elif entry.name.endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    files[entry.name] = (about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        if _CHART in files:
            continue
        if files:
            yield name, dict(sorted(files.items()))
        if not files.keys() >= _OWN_FORMAT:
            waiting.extend(sorted(folders, reverse=True))


def _unit(
    folder: str,
    stamps: Mapping[str, Stamp],
    root: Path,
    contents: Mapping[str, bytes] | None = None,
) -> Unit:
    from chartkit.catalog.entries import read_folder

    texts: dict[str, str] = {}
    digests: dict[str, str] = {}
    problems: list[str] = []
    for name, (size, _, _) in stamps.items():
        place = root / folder / name
        if size > _LARGEST:
            problems.append(f"{place}: is larger than {_LARGEST:,} bytes")
            continue
        try:
            content = place.read_bytes() if contents is None else contents[name]
            texts[name] = content.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            problems.append(f"{place}: cannot be read as text")
            continue
        digests[name] = hashlib.sha256(content).hexdigest()
    entries, unread = read_folder(folder, texts, root)
    return Unit(dict(stamps), digests, tuple(entries), (*problems, *unread))


RECENT: Final = 100_000_000
"""Nanoseconds: a file changed so shortly before it was read may change again unseen."""

Stamp = tuple[int, int, int]
"""A file's size, and when its content and its entry were changed, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One folder as it was read.

    stamps, digests: of its files by name, the digests SHA-256; entries: relative to the library;
    problems: why files could not be read, each with its place.
    """

    stamps: Mapping[str, Stamp]
    digests: Mapping[str, str]
    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()


def _known(kept: Json) -> dict[str, Unit]:
    """Return the folders of a library as they were kept; none unless the text is as it was
    written."""
    match kept:
        case [digest, str(text)] if digest == digest_of(text):
            units: dict[str, Json] = json.loads(text)
            return {name: _unit_of(unit) for name, unit in units.items()}
        case _:
            return {}


def _unit_of(body: Json) -> Unit:
    stamps = {name: tuple(stamp) for name, stamp in body["stamps"].items()}
    lists = ("subjects", "kinds", "forms")
    entries = (entry | {key: tuple(entry[key]) for key in lists} for entry in body["entries"])
    entries_read = tuple(Entry(**entry) for entry in entries)
    return Unit(stamps, body["digests"], entries_read, tuple(body["problems"]))
