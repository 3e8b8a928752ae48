"""The kustomizations of a folder: which are built, and which files are read with them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from chartkit.documents.reader import Document
from chartkit.documents.unread import unread
from chartkit.errors import InputError
from chartkit.helm.kustomize import NAMES, is_kustomization
from chartkit.helm.kustomize.kustomization import Kustomization, Repository
from chartkit.model import Diagnostic, Location, Resource

_PROGRAMS: Final = {"kustomize": ("build",), "kubectl": ("kustomize",)}
_SUFFIXES: Final = (".yaml", ".yml", ".json", "Kustomization")
_MOST: Final = 20_000
"""The most kustomizations that those of a folder may refer to."""


@dataclass(slots=True)
class Tree:
    """The kustomizations of a folder.

    builds: the folders to build; plain: files that are read as they are, for a kustomization that
    changes nothing lists them; taken: those that are not manifests by themselves, since a
    kustomization builds them in; rows: what is not read; read: the objects of files. Paths are
    without links.
    """

    repository: Repository
    builds: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    rows: list[Diagnostic] = field(default_factory=list)
    read: dict[str, Sequence[Resource]] = field(default_factory=dict)
    _known: dict[str, Kustomization | None] = field(default_factory=dict)
    _walked: set[str] | None = None

    @classmethod
    def of(cls, folder: Path, files: Iterable[Path], is_whole: bool = True) -> Tree:
        """Return the tree of a folder; files: those found in it, kustomizations among them;
        is_whole: whether all others in it are left out on purpose."""
        paths = [file.parent for file in files if is_kustomization(file)]
        tree = cls(Repository.around(folder) if paths else Repository("", "", str(folder)))
        starts = dict.fromkeys(map(os.path.realpath, paths))
        if paths and is_whole:
            tree._walked = set(map(os.path.realpath, files))
        tree._sort([start for start in starts if tree.at(start) is not None])
        return tree

    def takes(self, file: Path) -> bool:
        """Report whether a file is not a manifest by itself."""
        return bool(self.taken) and os.path.realpath(file) in self.taken

    def others(self) -> list[Path]:
        """Return the files to read as they are that are not among those found in the folder."""
        found = [each for each in self.plain if self._walked is None or each not in self._walked]
        return [Path(self.repository.name(each)) for each in found]

    def at(self, folder: str) -> Kustomization | None:
        """Return the kustomization of a folder; None where there is none that can be read."""
        if folder not in self._known:
            self._known[folder] = None
            try:
                kustomization = self.repository.kustomization(folder)
            except InputError as error:
                self.rows.append(unread(error))
                self.taken.update(os.path.join(folder, name) for name in NAMES)
                return None
            if kustomization is not None:
                self._known[folder] = kustomization
                is_left_out = self._is_left_out(os.path.join(folder, kustomization.name))
                self.rows += [] if is_left_out else kustomization.rows
        return self._known[folder]

    def _is_left_out(self, file: str) -> bool:
        """Report whether a file of the folder was to be found there, and is left out."""
        if self._walked is None or file in self._walked:
            return False
        inside, _, name = file.partition(self.repository.folder.rstrip(os.sep) + os.sep)
        hidden = any(part.startswith(".") for part in name.split(os.sep))
        return not inside and not hidden and name.endswith(_SUFFIXES)

    def rewritten(self, kustomization: Kustomization, document: Document) -> Tree:
        """Return the tree of one kustomization as if its file had another text, with references to
        the same files and folders."""
        other = replace(kustomization, document=document)
        known = {**self._known, kustomization.folder: other}
        return Tree(self.repository, [kustomization.folder], read=self.read, _known=known)

    def closure(self, folder: str) -> list[Kustomization]:
        """Return a folder's kustomization and all that it builds on, the nearest first."""
        return [each for each in map(self.at, self._reached([folder])) if each is not None]

    def files(self, folder: str) -> Iterator[Path]:
        """Yield the files that the build of a folder depends on, or would if they were there."""
        for kustomization in self.closure(folder):
            yield from (Path(kustomization.folder, name) for name in NAMES)
            yield from (Path(file.real) for file in kustomization.files)

    def _reached(self, starts: Sequence[str]) -> list[str]:
        found = dict.fromkeys(starts)
        waiting = list(starts)
        while waiting and len(found) < _MOST:
            kustomization = self.at(waiting.pop(0))
            for reference in kustomization.folders if kustomization else ():
                if reference.real not in found:
                    found[reference.real] = None
                    waiting.append(reference.real)
        return list(found)

    def _sort(self, named: Sequence[str]) -> None:
        reached = self._reached(named)
        known = [each for each in map(self.at, reached) if each is not None]
        below = {each.real for one in known for each in one.folders if each.real != one.folder}
        roots = [each for each in named if each not in below and not self._is_component(each)]
        covered = set(self._reached(roots))
        built_in = self._reached([each for each in named if self._is_component(each)])
        for each in named:
            # Kustomizations that refer to each other in a circle: kustomize says so.
            if each not in covered and not self._is_component(each) and each not in built_in:
                roots.append(each)
                covered.update(self._reached([each]))
        self._unfold(roots)
        for kustomization in known:
            self.taken.add(os.path.join(kustomization.folder, kustomization.name))
            self.taken.update(file.real for file in kustomization.files)
        self.taken -= set(self.plain)

    def _is_component(self, folder: str) -> bool:
        kustomization = self.at(folder)
        return kustomization is not None and kustomization.is_component

    def _unfold(self, roots: Sequence[str]) -> None:
        """Find the builds of roots: a kustomization that changes nothing is replaced by its
        entries."""
        plain: dict[str, None] = {}
        waiting, seen = list(roots), set(roots)
        while waiting:
            found = self.at(waiting.pop(0))
            if found is None:
                continue
            if not found.is_plain:
                self.builds.append(found.folder)
                continue
            files = (file.real for file in found.files)
            plain.update(dict.fromkeys(file for file in files if not self._is_left_out(file)))
            for reference in found.folders:
                names = (os.path.join(reference.real, name) for name in NAMES)
                if self.at(reference.real) is None and not any(map(os.path.isfile, names)):
                    place = Location(self.repository.name(os.path.join(found.folder, found.name)))
                    message = f"'{self.repository.name(reference.path)}' has no kustomization.yaml"
                    self.rows.append(unread(InputError(message, place, "name its files")))
                below = self.at(reference.real)
                is_left_out = below is not None and self._is_left_out(
                    os.path.join(below.folder, below.name)
                )
                if reference.real not in seen and not is_left_out:
                    seen.add(reference.real)
                    waiting.append(reference.real)
        self.plain = list(plain)


def program() -> tuple[str, tuple[str, ...]] | None:
    """Return the program that builds kustomizations, and its arguments; None without one."""
    for name, arguments in _PROGRAMS.items():
        if found := shutil.which(name):
            return found, arguments
    return None


def identity() -> str:
    """Return what tells the program from any other; empty without one."""
    found = program()
    if found is None:
        return ""
    status = os.stat(found[0])
    return f"{os.path.realpath(found[0])} {status.st_size} {status.st_mtime_ns}"


def dependencies(folder: Path) -> Iterator[Path]:
    """Yield the files that the kustomizations of a folder depend on."""
    walked = ((Path(here), names) for here, _, names in os.walk(folder))
    tree = Tree.of(
        folder, [here / name for here, names in walked for name in NAMES if name in names]
    )
    for build in tree.builds:
        yield from tree.files(build)
    yield from map(Path, tree.plain)
