"""What a server knows: the folders of the editor, the policies of each project, and the objects
beside a file."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, Generic, TypeVar

from chartkit.addons.lsp.cursor import Cursor
from chartkit.addons.lsp.judging import Policies
from chartkit.addons.lsp.shapes import Shape, shape_of
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.input_files import edited
from chartkit.documents.reader import read_file
from chartkit.engine import NO_ATTACHMENTS
from chartkit.errors import ChartkitError
from chartkit.model import Diagnostic, Resource, Severity
from chartkit.project.project import FILE_NAME, read_project
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
        if key not in self._values or self._values[key][0] != made_of:
            self._values[key] = (made_of, make())
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return self._values[key][1]


def stamp(paths: Iterable[Path]) -> tuple[Hashable, ...]:
    """Return what tells files, and all files below folders, from their other versions."""
    files = (file for path in paths for file in (_below(path) if path.is_dir() else [str(path)]))
    return tuple(map(_stamp, islice(files, _MOST_FILES)))


def _below(folder: Path) -> Iterator[str]:
    for above, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(above, name) for name in sorted(names))


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
    policies judge, None for a project's last one; named: policies in place of those of projects;
    shapes: of project files, with the policies that there are: empty after each save."""

    roots: list[Path] = field(default_factory=list)
    env: str | None = None
    named: Sequence[str] = ()
    shapes: dict[Path, Shape] = field(default_factory=dict)
    _policies: Kept[Policies] = field(default_factory=lambda: Kept(_PROJECTS))
    _objects: Kept[Sequence[Resource]] = field(default_factory=lambda: Kept(_FILES))

    def _above(self, path: Path) -> Iterator[Path]:
        """Yield the folders that a file is in, up to the editor's; its own where it is in none."""
        root = next((root for root in self.roots if path.is_relative_to(root)), path.parent)
        yield from (folder for folder in path.parents if folder.is_relative_to(root))

    def project_of(self, path: Path) -> Path | None:
        """Return the folder of the project that a file belongs to; None without one."""
        return next((each for each in self._above(path) if (each / FILE_NAME).is_file()), None)

    def chart_of(self, path: Path) -> Path | None:
        """Return the outermost chart that a file is a part of; None for none."""
        return next((each for each in reversed([*self._above(path)]) if is_chart(each)), None)

    def shape_of(self, path: Path, cursor: Cursor) -> Shape | None:
        """Return the shape of the document that a place of a file is in."""
        if path.name != FILE_NAME:
            return shape_of(cursor.types)
        if path not in self.shapes:
            self.shapes[path] = _project_shape(path)
        return self.shapes[path]

    def policies_of(self, path: Path) -> Policies:
        """Return the policies that judge the objects of a file: those of the server's options, of
        the file's project, or of the default profile."""
        root = None if self.named else self.project_of(path)
        known, sources = self._policies.last(root), [*map(Path, self.named)]
        if root is not None:
            charts = known.environment.sources if known and known.environment else ()
            own = (root / "charts" / name for name in (POLICIES, ENGINE))
            sources = [root / FILE_NAME, *(charts or own)]
        return self._policies.get(root, stamp(sources), lambda: self._load(root, known))

    def _load(self, root: Path | None, known: Policies | None) -> Policies:
        """Load the policies of a project. known: as they were before, which judge where they cannot
        be loaded now; without them, the default profile does."""
        try:
            if root is None:
                policies = Policies(load_policies(self.named or (DEFAULT_PROFILE,), {}))
            else:
                policies = self._of_project(root)
            policies.notes = policies.set.diagnostics
        except ChartkitError as error:
            policies = known or Policies(load_policies([DEFAULT_PROFILE], {}))
            which = "those before" if known else f"those of {DEFAULT_PROFILE}"
            message = f"the policies cannot be loaded: {error.message}; {which} judge"
            note = Diagnostic(RULE, Severity.NOTE, message, error.location, error.hint)
            policies.notes = [note]
        return policies

    def _of_project(self, root: Path) -> Policies:
        from chartkit.render.environment import project_environment

        project = read_project(root)
        name = self.env or [*project.environments][-1]
        environment = project_environment(project, project.environment(name))
        return Policies(environment.policies(NO_ATTACHMENTS), environment)

    def beside(self, path: Path) -> list[Resource]:
        """Return the objects of the other manifests in the folder of a file, as far as they can be
        read: policies may ask for them."""
        try:
            names = sorted(os.listdir(path.parent))[:_MOST_BESIDE]
        except OSError:
            return []
        files = (path.parent / name for name in names if name != path.name)
        return [
            resource
            for file in files
            if is_manifest(file) and file.is_file()
            for resource in self._objects.get(file, _stamp(str(file)), partial(_read, file))
        ]


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
        return objects_of(read_file(file)) if file.stat().st_size <= _LARGEST_BESIDE else ()
    except (ChartkitError, OSError):
        return ()
