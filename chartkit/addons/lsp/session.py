"""What a server knows: the folders of the editor, the policies of each project, and the objects
beside a file."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Generic, TypeVar

from chartkit.addons.lsp.cursor import Cursor
from chartkit.addons.lsp.judging import Policies
from chartkit.addons.lsp.shapes import Shape, shape_of
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.input_files import edited
from chartkit.documents.reader import read_file
from chartkit.errors import ChartkitError
from chartkit.model import Diagnostic, Location, Resource, Severity
from chartkit.project.environment import Environment
from chartkit.project.project import FILE_NAME, Project, read_project
from chartkit.scan import DEFAULT_PROFILE
from chartkit.scan.inputs import is_chart, is_manifest, objects_of
from chartkit.scan.policies import load_policies

T = TypeVar("T")
RULE: Final = "policies"
"""The code of what is to be said of the policies that judge."""
_MOST_FILES: Final = 20_000
_MOST_BESIDE: Final = 200
_LARGEST_BESIDE: Final = 1 << 20
"""The files beside a manifest that are read with it, and the bytes of the largest of them."""
_PROJECTS: Final = 8
_FILES: Final = 512


class Kept(Generic[T]):
    """The last values that were made, each with what it was made of."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, tuple[Hashable, T]] = OrderedDict()

    def last(self, key: Hashable) -> T | None:
        """Return the last value of a key, whatever it was made of."""
        return self._values[key][1] if key in self._values else None

    def get(self, key: Hashable, made_of: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, made anew where it is to be made of something else."""
        known = self._values.get(key)
        if known is None or known[0] != made_of:
            known = self._values[key] = (made_of, make())
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return known[1]


def stamp(paths: Iterable[Path]) -> tuple[Hashable, ...]:
    """Return what tells files, and all files below folders, from their other versions."""
    return tuple(part for path in paths for part in _stamps(path))


def _stamps(path: Path) -> Iterator[Hashable]:
    if not path.is_dir():
        yield _stamp(str(path))
        return
    count = 0
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > _MOST_FILES:
                return
            yield _stamp(os.path.join(folder, name))


def _stamp(file: str) -> Hashable:
    if (content := edited(file)) is not None:
        return file, hash(content)
    try:
        status = os.stat(file)
    except OSError:
        return file
    return file, status.st_size, status.st_mtime_ns


@dataclass(slots=True)
class Session:
    """The state of one server. roots: the folders of the editor; env: the environment whose
    policies judge, None for a project's last one; named: policies in place of those of projects.
    """

    roots: list[Path] = field(default_factory=list)
    env: str | None = None
    named: Sequence[str] = ()
    _policies: Kept[Policies] = field(default_factory=lambda: Kept(_PROJECTS))
    _good: dict[Path | None, Policies] = field(default_factory=dict)
    _objects: Kept[Sequence[Resource]] = field(default_factory=lambda: Kept(_FILES))
    shapes: dict[Path, Shape] = field(default_factory=dict)
    """The shapes of project files, with the policies that there are; empty after each save."""

    def _above(self, path: Path) -> Iterator[Path]:
        """Yield the folders that a file is in, up to the editor's; its own where it is in none."""
        root = next((root for root in self.roots if path.is_relative_to(root)), path.parent)
        for folder in path.parents:
            yield folder
            if folder == root:
                return

    def project_of(self, path: Path) -> Path | None:
        """Return the folder of the project that a file belongs to; None without one."""
        return next((each for each in self._above(path) if (each / FILE_NAME).is_file()), None)

    def chart_of(self, path: Path) -> Path | None:
        """Return the outermost chart that a file is a part of; None for none."""
        charts = [folder for folder in self._above(path) if is_chart(folder)]
        return charts[-1] if charts else None

    def policies_of(self, path: Path) -> Policies:
        """Return the policies that judge the objects of a file: those of the server's options, of
        the file's project, or of the default profile."""
        root = None if self.named else self.project_of(path)
        if self.named:
            made_of = stamp(map(Path, self.named))
        elif root is not None:
            known = self._policies.last(root)
            sources = known.environment.sources if known and known.environment else ()
            made_of = stamp([root / FILE_NAME, *(sources or _chart_folders(root))])
        else:
            made_of = ()
        return self._policies.get(root, made_of, lambda: self._load(root))

    def shape_of(self, path: Path, cursor: Cursor) -> Shape | None:
        """Return the shape of the document that a place of a file is in."""
        if path.name != FILE_NAME:
            return shape_of(cursor.types)
        if (known := self.shapes.get(path)) is None:
            known = self.shapes[path] = _project_shape(path)
        return known

    def _load(self, root: Path | None) -> Policies:
        file = str(root / FILE_NAME) if root is not None else ""
        try:
            policies = self._loaded(root)
        except ChartkitError as error:
            return self._instead(root, file, error)
        set_ = policies.set
        notes = [(_file(each, file), each) for each in (*set_.diagnostics, *set_.remarks)]
        policies.notes = [*policies.notes, *notes] if self.named else notes
        self._good[root] = policies
        return policies

    def _loaded(self, root: Path | None) -> Policies:
        if root is None:
            return Policies(load_policies(self.named or (DEFAULT_PROFILE,), {}))
        from chartkit.engine import NO_ATTACHMENTS
        from chartkit.render.environment import project_environment

        project = read_project(root)
        environment = project_environment(project, self.environment_of(project))
        return Policies(environment.policies(NO_ATTACHMENTS), environment)

    def environment_of(self, project: Project) -> Environment:
        """Return the environment of a project whose policies judge."""
        if self.env is not None:
            return project.environment(self.env)
        return [*project.environments.values()][-1]

    def _instead(self, root: Path | None, file: str, error: ChartkitError) -> Policies:
        """Return policies for those that cannot be loaded: as they were, or the default profile."""
        known = self._good.get(root)
        which = "as they were before" if known else f"those of {DEFAULT_PROFILE}"
        message = f"the project's policies cannot be loaded: {error.message}; {which} judge"
        location = error.location or Location(file)
        diagnostic = Diagnostic(RULE, Severity.NOTE, message, location, error.hint)
        set_ = known.set if known else load_policies([DEFAULT_PROFILE], {})
        environment = known.environment if known else None
        return Policies(set_, environment, [(file, diagnostic)])

    def beside(self, path: Path) -> list[Resource]:
        """Return the objects of the other manifests in the folder of a file, as far as they can be
        read: policies may ask for them."""
        found: list[Resource] = []
        try:
            names = sorted(os.listdir(path.parent))[:_MOST_BESIDE]
        except OSError:
            return found
        for file in (path.parent / name for name in names):
            if file != path and is_manifest(file) and file.is_file():
                found += self._objects.get(file, _stamp(str(file)), partial(_read, file))
        return found


def _project_shape(path: Path) -> Shape:
    """Return the shape of a project file, with the names of policies, parameters and profiles."""
    from chartkit.charts.policies.chart import read_libraries
    from chartkit.library.project_schema import project_schema

    try:
        library = read_libraries(read_project(path))
    except ChartkitError:
        library = read_libraries()
    schema = project_schema(library.policies.values())
    return Shape(schema, lambda name: schema["$defs"].get(name.rpartition("/")[2], {}))


def _read(file: Path) -> Sequence[Resource]:
    try:
        if file.stat().st_size > _LARGEST_BESIDE:
            return ()
        return objects_of(read_file(file))
    except (ChartkitError, OSError):
        return ()


def _file(diagnostic: Diagnostic, file: str) -> str:
    return diagnostic.location.file if diagnostic.location else file


def _chart_folders(root: Path) -> Iterator[Path]:
    """Yield the folders of a project's charts, where chartkit.yaml does not move them."""
    yield from (root / "charts" / name for name in (POLICIES, ENGINE))
