"""The state of a server: the folders of the editor, the policies of each project, and the objects
beside a file."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from chartkit.addons.lsp.cursor import Cursor
from chartkit.addons.lsp.judging import Policies
from chartkit.addons.lsp.shapes import Shape, shape_of
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.input_files import edited, file_state
from chartkit.documents.reader import read_file
from chartkit.engine import NO_ATTACHMENTS
from chartkit.errors import ChartkitError
from chartkit.model import Diagnostic, Resource, Severity
from chartkit.project.project import FILE_NAME, read_project
from chartkit.scan import DEFAULT_PROFILE
from chartkit.scan.inputs import is_chart, is_manifest, objects_of
from chartkit.scan.policies import load_policies

_MOST_FILES: Final = 20_000
_MOST_BESIDE: Final = 200
_LARGEST_BESIDE: Final = 1 << 20
"""The files beside a manifest that are read with it, and the bytes of the largest of them."""


def stamp(paths: Iterable[Path]) -> tuple[Hashable, ...]:
    """Return a stamp that changes with files, and with any file below folders."""
    files = (file for path in paths for file in (_below(path) if path.is_dir() else [str(path)]))
    return tuple(map(_stamp, islice(files, _MOST_FILES)))


def _below(folder: Path) -> Iterator[str]:
    for above, folders, names in os.walk(folder):
        folders.sort()
        yield from (os.path.join(above, name) for name in sorted(names))


def _stamp(file: str) -> Hashable:
    if (content := edited(file)) is not None:
        return file, hash(content)
    return file, *file_state(file)


@dataclass(slots=True)
class Session:
    """The state of one server. roots: the folders of the editor; env: the environment whose
    policies judge, None for a project's last one; named: policies in place of the projects' own;
    shapes: of project files, with the policies that there are: empty after each save."""

    roots: list[Path] = field(default_factory=list)
    env: str | None = None
    named: Sequence[str] = ()
    shapes: dict[Path, Shape] = field(default_factory=dict)
    _policies: dict[Path | None, tuple[Hashable, Policies]] = field(default_factory=dict)

    def _above(self, path: Path) -> Iterator[Path]:
        """Yield the folders that a file is in, up to the editor's; its own where it is in none."""
        root = next((root for root in self.roots if path.is_relative_to(root)), path.parent)
        yield from (folder for folder in path.parents if folder.is_relative_to(root))

    def project_of(self, path: Path) -> Path | None:
        """Return the folder of the project that a file belongs to; None without one."""
        folders = self._above(path)
        return next((folder for folder in folders if (folder / FILE_NAME).is_file()), None)

    def chart_of(self, path: Path) -> Path | None:
        """Return the outermost chart that a file is a part of; None outside charts."""
        return next((folder for folder in reversed([*self._above(path)]) if is_chart(folder)), None)

    def shape_of(self, path: Path, cursor: Cursor) -> Shape | None:
        """Return the shape of the document that a place of a file is in."""
        if path.name != FILE_NAME:
            return shape_of(cursor.types)
        if path not in self.shapes:
            from chartkit.charts.policies.chart import read_libraries
            from chartkit.library.profiles import project_schema

            try:
                library = read_libraries(read_project(path))
            except ChartkitError:
                library = read_libraries()
            schema = project_schema(library.policies.values())
            self.shapes[path] = Shape(
                schema, lambda name: schema["$defs"].get(name.rpartition("/")[2], {})
            )
        return self.shapes[path]

    def policies_of(self, path: Path) -> Policies:
        """Return the policies that judge the objects of a file: from the server's options, the
        file's project, or the default profile."""
        root = None if self.named else self.project_of(path)
        before, policies = self._policies.get(root, (None, None))
        sources = [*map(Path, self.named)]
        if root is not None:
            charts = policies.environment.sources if policies and policies.environment else ()
            own = (root / "charts" / name for name in (POLICIES, ENGINE))
            sources = [root / FILE_NAME, *(charts or own)]
        if before != (made_of := stamp(sources)):
            self._policies[root] = made_of, self._load(root, policies)
        return self._policies[root][1]

    def _load(self, root: Path | None, before: Policies | None) -> Policies:
        """Load the policies of a project. before: earlier ones, which judge where they cannot
        be loaded now; without them, the default profile does."""
        try:
            if root is None:
                policies = Policies(load_policies(self.named or (DEFAULT_PROFILE,), {}))
            else:
                from chartkit.render.environment import project_environment

                project = read_project(root)
                name = self.env or [*project.environments][-1]
                environment = project_environment(project, project.environment(name))
                policies = Policies(environment.policies(NO_ATTACHMENTS), environment)
            policies.notes = policies.set.diagnostics
        except ChartkitError as error:
            policies = before or Policies(load_policies([DEFAULT_PROFILE], {}))
            which = "those before" if before else f"those of {DEFAULT_PROFILE}"
            where = f"{error.location}: ".removeprefix(f"{root}{os.sep}") if error.location else ""
            message = f"the policies cannot be loaded: {where}{error.message}; {which} judge"
            note = Diagnostic("policies", Severity.NOTE, message, error.location, error.hint)
            policies.notes = [note]
        return policies

    def beside(self, path: Path) -> list[Resource]:
        """Return the objects of the other manifests in the folder of a file, as far as they can be
        read: policies may ask for them."""
        try:
            names = sorted(os.listdir(path.parent))[:_MOST_BESIDE]
        except OSError:
            return []
        files = (path.parent / name for name in names if name != path.name)
        there = (file for file in files if is_manifest(file) and file.is_file())
        return [resource for file in there for resource in _objects(file, _stamp(str(file)))]


@lru_cache(maxsize=256)
def _objects(file: Path, _version: Hashable) -> Sequence[Resource]:
    """Return the objects of a version of a file; none of one that is large or cannot be read."""
    try:
        return objects_of(read_file(file)) if file.stat().st_size <= _LARGEST_BESIDE else ()
    except (ChartkitError, OSError):
        return ()
