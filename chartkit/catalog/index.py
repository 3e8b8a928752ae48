"""Every policy of a library, folder by folder; what did not change is not read again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from chartkit.catalog import cache
from chartkit.catalog.cache import Stamp, Unit
from chartkit.catalog.model import Entry
from chartkit.errors import system_errors

SUFFIXES: Final = (".yaml", ".yml")
_OWN_FORMAT: Final = {"policy.yaml", "metadata.yaml"}
_CHART: Final = "Chart.yaml"
_LARGEST: Final = 2_000_000
"""Bytes: a larger file is no policy that Kubernetes would take."""


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
    known = cache.load(resolved)
    units: dict[str, Unit] = {}
    for folder, stamps in _folders(resolved):
        unit = known.get(folder)
        if unit is None or unit.stamps != stamps:
            unit = _read(folder, stamps, resolved)
        units[folder] = unit
    if units != known:
        cache.save(resolved, units, read_at)
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
        if _CHART in contents or any(_CHART in each or each >= _OWN_FORMAT for each in above):
            continue
        stamps = {file: (len(content), 0, 0) for file, content in contents.items()}
        units[folder] = _unit(folder, stamps, root, contents.__getitem__)
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
            for each in found:
                if each.name.startswith("."):
                    continue
                if each.is_dir(follow_symlinks=False):
                    folders.append((f"{name}/{each.name}".lstrip("/"), each.path))
                elif each.name.endswith(SUFFIXES) and each.is_file(follow_symlinks=False):
                    about = each.stat(follow_symlinks=False)
                    files[each.name] = (about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        if _CHART in files:
            continue
        if files:
            yield name, dict(sorted(files.items()))
        if not files.keys() >= _OWN_FORMAT:
            waiting.extend(sorted(folders, reverse=True))


def _read(folder: str, stamps: Mapping[str, Stamp], root: Path) -> Unit:
    return _unit(folder, stamps, root, lambda file: (root / folder / file).read_bytes())


def _unit(
    folder: str, stamps: Mapping[str, Stamp], root: Path, read: Callable[[str], bytes]
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
            content = read(name)
            texts[name] = content.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            problems.append(f"{place}: cannot be read as text")
            continue
        digests[name] = hashlib.sha256(content).hexdigest()
    entries, unread = read_folder(folder, texts, root)
    return Unit(dict(stamps), digests, tuple(entries), (*problems, *unread))
