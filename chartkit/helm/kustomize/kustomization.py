"""Kustomizations: the files and folders that one refers to, what of it is refused, and which of a
folder are built.

Source: kustomize, api/types/kustomization.go.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import checkout_top
from chartkit.documents.reader import Document, read_source, read_text
from chartkit.documents.unread import unread
from chartkit.errors import InputError
from chartkit.helm.kustomize import NAMES, is_kustomization
from chartkit.model import (
    Body,
    Diagnostic,
    Json,
    Location,
    Resource,
    Severity,
    list_of,
    mapping_at,
    texts_of,
)
from chartkit.wording import shortened

COMPONENT: Final = "Component"
_GROUP: Final = "kustomize.config.k8s.io/"
_PLAIN: Final = frozenset(
    {"apiVersion", "kind", "metadata", "resources", "bases", "sortOptions", "buildMetadata"}
)
"""The fields that change no object."""
OBJECTS: Final = ("resources", "bases")
_PLUGINS: Final = ("generators", "transformers", "validators")
_LISTS: Final = (*OBJECTS, "components", *_PLUGINS, "configurations", "crds")
_FOLDERS: Final = (*OBJECTS, "components", *_PLUGINS)
_PATCHES: Final = "patchesStrategicMerge"
_PATHS: Final = ("patches", "patchesJson6902", "replacements")
_GENERATORS: Final = ("configMapGenerator", "secretGenerator")
_CHARTS: Final = ("helmCharts", "helmChartInflationGenerator")
_DROPPED: Final = (*OBJECTS, *_CHARTS, "generators", "validators")
"""The fields without whose entries the other objects are built as they are with them."""
_BUILTIN: Final = "builtin"
_FUNCTION: Final = "config.kubernetes.io/function"
_HELM_PLUGIN: Final = "HelmChartInflationGenerator"
_PLUGIN_FILES: Final = ("path", "paths", "files", "envs", "env")
_REMOTE: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://|[a-z]+::|[\w.-]+@[\w.-]+:|(www\.)?(github|gitlab|bitbucket)\.\w+[/:]"
    r"|.*(\?(ref|version|timeout|submodules)=|\.git(/|$)|[^:]//)",
    re.IGNORECASE,
)
Steps = tuple[str | int, ...]
_SHOWN: Final = 200
_LONGEST: Final = 4096
_REMOTE_HINT: Final = "put a copy into the repository, or pipe: kustomize build … | chartkit scan -"
_OUT_HINT: Final = "keep what a kustomization takes in its repository"
_CHART: Final = "pipe: kustomize build --enable-helm … | chartkit scan -"
_PLUGIN_HINT: Final = "pipe: kustomize build --enable-alpha-plugins … | chartkit scan -"
_CORRECT: Final = "correct it, or leave it out by --exclude"
_NOTE: Final = "scan-input"
_UNUSED: Final = "is a component that no kustomization here takes: its objects are not read"
_CIRCLE: Final = "leads to itself by the kustomizations that it lists"
_UNUSED_HINT: Final = "scan the kustomization that takes it"
_PROGRAMS: Final = {"kustomize": ("build",), "kubectl": ("kustomize",)}
_SUFFIXES: Final = (".yaml", ".yml", ".json", "Kustomization")
_MOST: Final = 20_000
"""The most kustomizations that those of a folder may refer to."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A file or folder inside the repository: the place where it is referred to, and the real one
    if links lead there. field: the field of the kustomization that names it."""

    field: str
    path: str
    real: str


@dataclass(slots=True)
class Kustomization:
    """A kustomization. folder: without links; rows: what is not read of it; dropped: the entries
    that are built without; is_refused: whether nothing can be built."""

    folder: str
    name: str
    document: Document
    files: list[Reference] = field(default_factory=list)
    folders: list[Reference] = field(default_factory=list)
    rows: list[Diagnostic] = field(default_factory=list)
    dropped: list[Steps] = field(default_factory=list)
    is_refused: bool = False

    @property
    def body(self) -> Body:
        """The fields of the file."""
        body = self.document.body
        return body if isinstance(body, dict) else {}

    @property
    def is_component(self) -> bool:
        """True if other kustomizations build it in, and it is not built by itself."""
        return self.body.get("kind") == COMPONENT

    @property
    def has_objects(self) -> bool:
        """True if it lists files of objects."""
        return any(file.field in OBJECTS for file in self.files)

    @property
    def is_plain(self) -> bool:
        """True if it lists files and folders and changes nothing; kustomize says what is wrong
        with lists of another type."""
        return not self.is_component and all(
            isinstance(value, list) and len(texts_of(value)) == len(value)
            if key in OBJECTS
            else key in _PLAIN or (key in _CHARTS and isinstance(value, list))
            for key, value in self.body.items()
            if value
        )


@dataclass(frozen=True, slots=True)
class Repository:
    """The folder that kustomizations may not refer out of, without links. folder: one that the user
    named; shown: as messages name it."""

    top: str
    folder: str
    shown: str

    @classmethod
    def around(cls, folder: Path) -> Repository:
        """Return the repository of a folder: the nearest one with `.git`, else the working
        directory if the folder is below it, else the folder."""
        real = os.path.realpath(folder)
        top, here = checkout_top(Path(real)), os.path.realpath(os.curdir)
        around = here if Path(real).is_relative_to(here) else real
        return cls(str(top or around), real, str(folder))

    def name(self, path: str) -> str:
        """Return the path of a file as messages name it."""
        return os.path.normpath(os.path.join(self.shown, os.path.relpath(path, self.folder)))

    def holds(self, path: str) -> bool:
        """Report whether a path is in the repository."""
        return path == self.top or path.startswith(self.top.rstrip(os.sep) + os.sep)

    def kustomization(self, folder: str) -> Kustomization | None:
        """Return the kustomization of a folder with its references, None without one. Raise
        InputError for one that cannot be read."""
        names = [name for name in NAMES if os.path.isfile(os.path.join(folder, name))]
        if not names:
            return None
        file = os.path.join(folder, names[0])
        shown = self.name(file)
        if len(names) > 1:
            raise InputError(f"stands beside '{names[1]}'", Location(shown), "keep one of them")
        if not self.holds(os.path.realpath(file)):
            raise InputError("is a link that leads out of the repository", Location(shown))
        documents = read_text(read_source(file), shown)
        if len(documents) != 1 or not isinstance(documents[0].body, dict):
            location = documents[-1].location if documents else Location(shown)
            raise InputError("must be one mapping", location)
        version = documents[0].body.get("apiVersion")
        if version and not str(version).startswith(_GROUP):
            return None
        kustomization = Kustomization(folder, names[0], documents[0])
        _References(self, kustomization).read()
        return kustomization


class _Refused(Exception):  # noqa: N818 - becomes a row
    """A reference that is not followed."""


@dataclass(frozen=True, slots=True)
class _References:
    """The references of a kustomization."""

    repository: Repository
    subject: Kustomization

    def read(self) -> None:
        """Add the references to the kustomization, with rows about refused ones."""
        body = self.subject.body
        for key in _CHARTS:
            for index, _ in enumerate(list_of(body.get(key))):
                self._refuse((key, index), "a chart of a kustomization is not rendered", _CHART)
        for steps, text in _written(body):
            try:
                key = str(steps[0])
                reference = self._resolved(key, text)
                if reference is None:
                    if steps[0] in _PLUGINS:
                        self._plugins(str(steps[0]), text, self.subject.document.source.file)
                elif os.path.isdir(reference.real):
                    if key not in _FOLDERS:
                        raise _Refused(f"'{text}' is a folder", "name a file")
                    if reference.real == self.subject.folder:
                        message = f"'{text}' is the kustomization's own folder"
                        raise _Refused(message, "name its files")
                    self.subject.folders.append(reference)
                else:
                    self.subject.files.append(reference)
                    if key in _PLUGINS:
                        self._plugins(
                            key, read_source(reference.real), self.repository.name(reference.real)
                        )
            except _Refused as refused:
                message, hint = refused.args
                self._refuse(steps, message, hint)
        kinds: dict[str | None, list[Diagnostic]] = {}
        for row in self.subject.rows:
            kinds.setdefault(row.hint, []).append(row)
        self.subject.rows[:] = [
            replace(first, message=f"{first.message}; {len(others)} more of the kind in this file")
            if others
            else first
            for first, *others in kinds.values()
        ]

    def _resolved(self, key: str, text: str) -> Reference | None:
        """Return the reference that a path leads to; None for a text that is a document."""
        joined = os.path.join(self.subject.folder, text)
        is_there = "\0" not in text and len(text) < _LONGEST and os.path.lexists(joined)
        if not is_there and key in (*_PLUGINS, _PATCHES) and re.search(r"[\n{]|: ", text):
            return None
        if not is_there and _REMOTE.match(text):
            raise _Refused(f"'{_cut(text)}' is elsewhere, and is not downloaded", _REMOTE_HINT)
        path = os.path.normpath(joined)
        real = os.path.realpath(joined) if is_there else path
        if os.path.isabs(text) or not (self.repository.holds(path) and self.repository.holds(real)):
            raise _Refused(f"'{_cut(text)}' leads out of the repository", _OUT_HINT)
        if not os.path.exists(real):
            raise _Refused(f"there is no '{_cut(text)}'", "correct the path, or add the file")
        if not os.path.isdir(real) and not os.path.isfile(real):
            raise _Refused(f"'{_cut(text)}' is neither a file nor a folder", "name a file")
        return Reference(key, path, real)

    def _plugins(self, key: str, text: str, shown: str) -> None:
        """Add the files of plugins that are part of kustomize; refuse programs and containers."""
        try:
            bodies = [document.body for document in read_text(text, shown)]
        except InputError as error:
            raise _Refused(f"a plugin cannot be read: {error.message}", None) from None
        for body in bodies:
            if not isinstance(body, dict):
                continue
            is_function = _FUNCTION in mapping_at(body, "metadata", "annotations")
            kind = body.get("kind")
            if body.get("apiVersion") != _BUILTIN or is_function or kind == _HELM_PLUGIN:
                raise _Refused(f"the plugin '{_cut(str(kind))}' is not run", _PLUGIN_HINT)
            for name in _PLUGIN_FILES:
                value = body.get(name)
                for path in texts_of([value] if isinstance(value, str) else value):
                    reference = self._resolved(key, path.rpartition("=")[2])
                    self.subject.files += [reference] if reference else []

    def _refuse(self, steps: Steps, message: str, hint: str | None) -> None:
        document, subject = self.subject.document, self.subject
        subject.rows.append(unread(InputError(message, document.locate(*steps), hint)))
        if steps[0] in _DROPPED:
            subject.dropped.append(steps)
        else:
            subject.is_refused = True


def _written(body: Body) -> Iterator[tuple[Steps, str]]:
    """Yield the paths that a kustomization names, each with its place."""
    for key in (*_LISTS, _PATCHES):
        yield from _texts(body.get(key), key)
    for key in _PATHS:
        for index, entry in enumerate(list_of(body.get(key))):
            yield from _text(mapping_at(entry).get("path"), key, index, "path")
    yield from _text(mapping_at(body, "openapi").get("path"), "openapi", "path")
    for key in _GENERATORS:
        for index, entry in enumerate(list_of(body.get(key))):
            for name in ("files", "envs"):
                for steps, text in _texts(mapping_at(entry).get(name), key, index, name):
                    # `key=path`: kustomize takes the file's name for a key that is not there.
                    yield steps, text.partition("=")[2] or text
            yield from _text(mapping_at(entry).get("env"), key, index, "env")


def _texts(value: Json, *steps: str | int) -> Iterator[tuple[Steps, str]]:
    for index, item in enumerate(list_of(value)):
        yield from _text(item, *steps, index)


def _text(value: Json, *steps: str | int) -> Iterator[tuple[Steps, str]]:
    if isinstance(value, str) and value:
        yield steps, value


def without(body: Body, dropped: Collection[Steps]) -> Body:
    """Return a kustomization without some entries of its lists."""
    gone = {(steps[0], steps[1]) for steps in dropped}
    return {
        key: [item for index, item in enumerate(value) if (key, index) not in gone]
        if isinstance(value, list)
        else value
        for key, value in body.items()
    }


def _cut(text: str) -> str:
    return shortened(text, _SHOWN)


@dataclass(slots=True)
class Tree:
    """The kustomizations of a folder.

    builds: the folders to build; plain: files that are read as they are, for a kustomization that
    changes nothing lists them; taken: those that are not manifests by themselves, since a
    kustomization builds them in; rows: what is not read; read: the objects of files, and of
    documents of builds. Paths are without links.
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
        files = [file for file in self.plain if self._walked is None or file not in self._walked]
        return [Path(self.repository.name(file)) for file in files]

    def at(self, folder: str) -> Kustomization | None:
        """Return the kustomization of a folder, None without one that can be read."""
        if folder not in self._known:
            self._known[folder] = None
            try:
                kustomization = self.repository.kustomization(folder)
            except InputError as error:
                if (at := error.location) is not None and os.path.isabs(at.file):
                    error.location = replace(at, file=self.repository.name(at.file))
                error.hint = error.hint or _CORRECT
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
        kustomizations = {**self._known, kustomization.folder: other}
        return Tree(self.repository, [kustomization.folder], read=self.read, _known=kustomizations)

    def closure(self, folder: str) -> list[Kustomization]:
        """Return a folder's kustomization and all that it builds on, the nearest first."""
        return [member for member in map(self.at, self._reached([folder])) if member is not None]

    def files(self, folder: str) -> Iterator[Path]:
        """Yield the files that the build of a folder depends on, or would if they were there."""
        for kustomization in self.closure(folder):
            yield from (Path(kustomization.folder, name) for name in NAMES)
            yield from (Path(file.real) for file in kustomization.files)

    def _reached(self, starts: Sequence[str]) -> list[str]:
        reached = dict.fromkeys(starts)
        waiting = list(starts)
        while waiting and len(reached) < _MOST:
            kustomization = self.at(waiting.pop(0))
            for reference in kustomization.folders if kustomization else ():
                if reference.real not in reached:
                    reached[reference.real] = None
                    waiting.append(reference.real)
        return list(reached)

    def _sort(self, named: Sequence[str]) -> None:
        reached = self._reached(named)
        members = [member for member in map(self.at, reached) if member is not None]
        below = {base.real for top in members for base in top.folders if base.real != top.folder}
        roots = [path for path in named if path not in below and not self._is_component(path)]
        covered = set(self._reached(roots))
        built_in = self._reached([path for path in named if self._is_component(path)])
        for path in named:
            if path not in covered and not self._is_component(path) and path not in built_in:
                roots.append(path)
                covered.update(self._reached([path]))
                circle = self.at(path)
                bases = [] if circle is None else [base.real for base in circle.folders]
                # Kustomize says so of circles; it is not asked about one that changes nothing.
                if circle is not None and circle.is_plain and path in self._reached(bases):
                    at = Location(self.repository.name(os.path.join(path, circle.name)))
                    self.rows.append(unread(InputError(_CIRCLE, at, "take one of them out")))
        # Find the builds of roots: entries in place of one that changes nothing.
        unfolded: dict[str, None] = {}
        waiting, seen = list(roots), set(roots)
        while waiting:
            overlay = self.at(waiting.pop(0))
            if overlay is None:
                continue
            if not overlay.is_plain:
                self.builds.append(overlay.folder)
                continue
            files = (file.real for file in overlay.files)
            unfolded.update(dict.fromkeys(file for file in files if not self._is_left_out(file)))
            for reference in overlay.folders:
                names = [os.path.join(reference.real, name) for name in NAMES]
                base = self.at(reference.real)
                if base is None and not any(map(os.path.isfile, names)):
                    at = Location(self.repository.name(os.path.join(overlay.folder, overlay.name)))
                    message = f"'{self.repository.name(reference.path)}' has no kustomization.yaml"
                    self.rows.append(unread(InputError(message, at, "name its files")))
                name = "" if base is None else os.path.join(base.folder, base.name)
                if reference.real not in seen and not (name and self._is_left_out(name)):
                    seen.add(reference.real)
                    waiting.append(reference.real)
        self.plain = list(unfolded)
        for path in named:
            component = self.at(path)
            if path not in covered and component is not None and component.has_objects:
                at = Location(self.repository.name(os.path.join(path, component.name)))
                self.rows.append(Diagnostic(_NOTE, Severity.NOTE, _UNUSED, at, _UNUSED_HINT))
        for kustomization in members:
            self.taken.add(os.path.join(kustomization.folder, kustomization.name))
            self.taken.update(file.real for file in kustomization.files)
        self.taken -= set(self.plain)

    def _is_component(self, folder: str) -> bool:
        kustomization = self.at(folder)
        return kustomization is not None and kustomization.is_component


def program() -> tuple[str, tuple[str, ...]] | None:
    """Return the program that builds kustomizations, and its arguments; None without one."""
    for name, arguments in _PROGRAMS.items():
        if path := shutil.which(name):
            return path, arguments
    return None


def identity() -> str:
    """Return a text that identifies the program; empty without one."""
    tool = program()
    if tool is None:
        return ""
    status = os.stat(tool[0])
    return f"{os.path.realpath(tool[0])} {status.st_size} {status.st_mtime_ns}"


def dependencies(folder: Path) -> Iterator[Path]:
    """Yield the files that the kustomizations of a folder depend on."""
    walked = ((Path(here), names) for here, _, names in os.walk(folder))
    files = [here / name for here, names in walked for name in NAMES if name in names]
    tree = Tree.of(folder, files)
    for build in tree.builds:
        yield from tree.files(build)
    yield from map(Path, tree.plain)
