"""The policies that get pages, and the folder of the pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from chartkit.catalog.index import read_index
from chartkit.catalog.libraries import LibraryFolder, libraries
from chartkit.catalog.pages.page import MARK, DocumentedLibrary
from chartkit.errors import InputError, system_errors
from chartkit.library.policies import PARAMETERS_FILE, POLICY_FILE
from chartkit.model import Location
from chartkit.output import atomic_folder
from chartkit.output.folders import write_below
from chartkit.suggestions import suggestion

_DEEPEST: Final = 2
"""The number of folders between a policy and its library's shared parameters."""


def documented(names: Sequence[str], project: Path) -> list[DocumentedLibrary]:
    """The policies that names mean; raises InputError for a name that means none.

    names: of libraries, or folders at and below which policies stand; none: every library that
    the project has.
    """
    known = libraries(project)
    if not names:
        return [_whole(library) for library in known]
    found: dict[str, DocumentedLibrary] = {}
    for name in names:
        each = _named(name, known)
        other = found.setdefault(each.name, each)
        if other.root.resolve() != each.root.resolve():
            hint = "write their pages to folders of their own, one after the other"
            raise InputError(f"there are two libraries '{each.name}'", Location(name), hint)
        found[each.name] = _together(other, each)
    return list(found.values())


def _together(one: DocumentedLibrary, other: DocumentedLibrary) -> DocumentedLibrary:
    entries = {each.reference: each for each in (*one.entries, *other.entries)}
    ordered = sorted(entries.values(), key=lambda each: each.reference)
    return replace(one, entries=tuple(ordered))


def _named(name: str, known: Sequence[LibraryFolder]) -> DocumentedLibrary:
    for library in known:
        if library.name == name:
            return _whole(library)
    folder = Path(name)
    if not folder.is_dir():
        listed = [library.name for library in known]
        hint = suggestion(name, listed) or f"libraries are {', '.join(listed)}"
        raise InputError(f"there is no library and no folder '{name}'", hint=hint)
    root = _root(folder.resolve())
    found = [
        entry
        for entry in read_index(root.name, root).entries
        if Path(entry.file).is_relative_to(folder.resolve())
    ]
    if not found:
        raise InputError("holds no policy", Location(name))
    return DocumentedLibrary(root.name, root, tuple(found))


def _whole(library: LibraryFolder) -> DocumentedLibrary:
    return DocumentedLibrary(
        library.name, library.root, read_index(library.name, library.root).entries
    )


def _root(folder: Path) -> Path:
    """The library that a folder is in: where the shared parameters stand, or the folder itself."""
    for each in (folder, *list(folder.parents)[:_DEEPEST]):
        if (each / PARAMETERS_FILE).is_file() and not (each / POLICY_FILE).exists():
            return each
    return folder.parent if (folder / POLICY_FILE).is_file() else folder


def differences(pages: Mapping[str, str], folder: Path) -> list[str]:
    """Return the files of a folder that differ from the pages, a line each; raise InputError."""
    there = dict(_files(folder))
    found = []
    for name in sorted({*pages, *there}):
        if name not in there:
            found.append(f"{folder / name}: is missing")
        elif name not in pages:
            found.append(f"{folder / name}: is of no policy any more")
        elif there[name] != pages[name].encode():
            found.append(f"{folder / name}: is not as the policy is now")
    return found


def publish(pages: Mapping[str, str], folder: Path) -> None:
    """Puts the pages in the place of a folder of such pages, in one step; raises InputError, also
    where the folder holds anything else: nothing that people wrote is removed."""
    for name, content in _files(folder):
        if not content.startswith(MARK.encode()):
            hint = "give a folder that holds nothing else than these pages"
            raise InputError(
                "was not written by `policies docs`", Location(str(folder / name)), hint
            )
    with atomic_folder.replaced(folder) as new:
        write_below(new, pages)


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The files below a folder by their paths there; none where there is no folder."""
    with system_errors("cannot be read", folder):
        if not folder.exists():
            return
        for file in sorted(folder.rglob("*")):
            if file.is_symlink() or not file.is_dir():
                yield file.relative_to(folder).as_posix(), file.read_bytes()
