"""The libraries: the built-in one, a project's own, and the vendored ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit import bundled
from chartkit.catalog.index import read_index
from chartkit.catalog.model import Entry
from chartkit.errors import InputError
from chartkit.network.downloads.lockfile import LOCK_FILE, VENDOR, read_lock

BUILT_IN: Final = bundled.LIBRARY
"""The name of the built-in library."""
_PROJECT: Final = "chartkit.yaml"


@dataclass(frozen=True, slots=True)
class LibraryFolder:
    """A library: its name, where it stands, and whether it was vendored."""

    name: str
    root: Path
    vendored: bool = False


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every policy of every library, in the order of the libraries and of their references.

    problems: files that could not be read or are not what was vendored, each with its place.
    """

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]


def libraries(project: Path) -> list[LibraryFolder]:
    """The libraries that a project has, the built-in one first; raises InputError.

    project: the folder that chartkit.yaml and vendor/ stand in, or would.
    """
    return [
        LibraryFolder(BUILT_IN, bundled.library_dir()),
        *(LibraryFolder(folder.name, folder) for folder in own_libraries(project)),
        *(LibraryFolder(folder.name, folder, True) for folder in vendored(project)),
    ]


def ranks(found: Sequence[LibraryFolder]) -> Callable[[Entry], int]:
    """The policies that go before those of other libraries by the same name: a project's own
    libraries (0), then the built-in ones, then the vendored ones."""
    places = [
        (f"{each.root}/", 2 if each.vendored else 1 if each.name == BUILT_IN else 0)
        for each in found
    ]

    def rank(entry: Entry) -> int:
        return next((rank for place, rank in places if entry.file.startswith(place)), 0)

    return rank


def own_libraries(project: Path, made: Path | None = None) -> list[Path]:
    """The folders that `library` of chartkit.yaml names; none where there is no such file.

    made: one that need not be there, for it is about to be made. Raises InputError for another
    that is missing.
    """
    file = project / _PROJECT
    if not file.is_file():
        return []
    from chartkit.documents.reader import read_file

    documents = read_file(file)
    body = documents[0].body if documents else None
    found = (body.get("library") if isinstance(body, dict) else None) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InputError("library must be a list of folders", documents[0].locate("library"))
    for index, each in enumerate(found):
        folder = project / each
        if not folder.is_dir() and (made is None or folder.resolve() != made.resolve()):
            place = documents[0].locate("library", index)
            hint = "make the folder, or take it out of the list"
            raise InputError(f"there is no policy library '{each}'", place, hint)
    return [project / each for each in found]


def vendored(project: Path) -> list[Path]:
    """The folders of vendor/ that have a lock file."""
    folder = project / VENDOR
    if not folder.is_dir():
        return []
    found = [each for each in folder.iterdir() if not each.name.startswith(".")]
    return sorted(each for each in found if (each / LOCK_FILE).is_file())


def read_catalogue(found: Sequence[LibraryFolder]) -> Catalogue:
    """Every policy of some libraries; raises InputError."""
    entries: list[Entry] = []
    problems: list[str] = []
    for library in found:
        indexed = read_index(library.name, library.root)
        entries.extend(indexed.entries)
        problems.extend(indexed.problems)
        if library.vendored:
            problems.extend(_changed(library.root, indexed.digests))
    return Catalogue(tuple(entries), tuple(problems))


def _changed(root: Path, digests: Mapping[str, str]) -> Iterator[str]:
    """Files that were looked at and are not as the lock file has them."""
    locked = read_lock(root).files
    for name, found in digests.items():
        if locked.get(name) != found:
            what = "was changed since it was" if name in locked else "was not"
            yield f"{root / name}: {what} vendored"
