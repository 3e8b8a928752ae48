"""The state of a server: the folders of the editor, the policies of each project, and the objects
beside a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from chartkit.addons.lsp.cursor import Cursor, Step
from chartkit.addons.lsp.judging import Policies
from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.documents.input_files import edited, file_state
from chartkit.documents.reader import read_file
from chartkit.engine import NO_ATTACHMENTS
from chartkit.engine.kubernetes.field_faults import LIST, MAP, fields_of, known_kinds, type_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version
from chartkit.errors import ChartkitError
from chartkit.model import Body, Diagnostic, Resource, Severity
from chartkit.project.project import FILE_NAME, read_project
from chartkit.scan import DEFAULT_PROFILE
from chartkit.scan.inputs import is_chart, is_manifest, objects_of
from chartkit.scan.policies import load_policies
from chartkit.schemas.compact import Schema, flattened, type_library
from chartkit.schemas.crds import kinds

_TEXT: Final = {"type": "string"}
_COMMON: Final = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"$ref": "meta.v1.ObjectMeta"}}
_SCALARS: Final = {"bool": "boolean", "double": "number", "int": "integer", "string": "string"}
_INNER: Final = ("anyOf", "oneOf", "allOf", "then", "else")
_CONDITIONS: Final = frozenset({"conditions", "preconditions"})
_MOST_PARTS: Final = 64


def _definition(name: str) -> Schema:
    """Return a type of Kyverno's kinds or of Kubernetes' own as a schema."""
    library = type_library()
    if name in library:
        return flattened(library[name], library)
    fields = {key: _of_table(field.type) for key, field in fields_of(name).items()}
    return {"type": name.rpartition(".")[2], "properties": fields}


def _of_table(name: str) -> Schema:
    """Return a type as the table of Kubernetes' types names it as a schema."""
    if name.startswith(LIST):
        return {"type": "array", "items": _of_table(name.removeprefix(LIST))}
    if name.startswith(MAP):
        return {"type": "object", "additionalProperties": _of_table(name.removeprefix(MAP))}
    return {"type": _SCALARS[name]} if name in _SCALARS else {"$ref": name}


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a value. definitions: gives what its schema refers to."""

    schema: Schema
    definitions: Callable[[str], Schema] = _definition

    def fields(self) -> Mapping[str, Shape]:
        parts = [part.get("properties") or {} for part in self._parts()]
        return {name: self._of(part[name]) for part in reversed(parts) for name in part}

    def at(self, path: Iterable[Step]) -> Shape | None:
        """Return the shape at a path; None where it is not known."""
        shape: Shape | None = self
        for step in path:
            shape = shape.within(step) if shape is not None else None
        return shape

    def within(self, step: Step) -> Shape | None:
        """Return the shape of a field or of the items."""
        field = None if isinstance(step, int) else self.fields().get(step)
        if field is not None and step in _CONDITIONS and not field.holds_more:
            # The definition of ClusterPolicy leaves them open.
            return self._of({"$ref": "AnyAllConditions"})
        key = "items" if isinstance(step, int) else "additionalProperties"
        return field or next(map(self._of, self._all(key, dict)), None)

    @property
    def doc(self) -> str:
        """The meaning of the value; empty where nothing is known."""
        return next(self._all("description", str), "")

    @property
    def name(self) -> str:
        """The type, as people write it: `list of string`."""
        names = next(self._all("type", (str, list)), "any")
        items = self.within(0) if names == "array" else None
        if items is not None:
            return f"list of {items.name}"
        return " or ".join(names) if isinstance(names, list) else str(names)

    def values(self) -> list[str]:
        """Return the allowed values, as YAML has them, as far as they are enumerated."""
        listed = [value for values in self._all("enum", list) for value in values]
        if not listed and self.name == "boolean":
            listed = [True, False]
        scalars = dict.fromkeys(value for value in listed if isinstance(value, str | int))
        return [value if isinstance(value, str) else json.dumps(value) for value in scalars]

    @property
    def holds_more(self) -> bool:
        """True if the value is a mapping or a list."""
        return self.name.startswith(("object", "list", "array")) or bool(self.fields())

    def _of(self, schema: Schema) -> Shape:
        return Shape(schema, self.definitions)

    def _all(self, key: str, kind: Any) -> Iterator[Any]:
        """Yield the values of a type that the schema and its parts have under a key."""
        return (part[key] for part in self._parts() if isinstance(part.get(key), kind))

    def _parts(self) -> Iterator[Body]:
        """Yield the schema, what it refers to, and what it is made of."""
        todo: list[Any] = [self.schema]
        for part, _ in zip(todo, range(_MOST_PARTS), strict=False):
            if isinstance(part, list):
                todo += part
            elif isinstance(part, dict):
                yield part
                todo += [self.definitions(part["$ref"])] if "$ref" in part else []
                todo += [part[key] for key in _INNER if key in part]


def shape_of(types: tuple[str, str]) -> Shape | None:
    """The shape of an object by its `apiVersion` and kind; None for one that is not known."""
    kind = GroupVersionKind(*parse_api_version(types[0]), types[1])
    name = type_of_kind(kind)
    own = {(kind.group, version.name, kind.kind): version.type
           for kind in kinds() for version in kind.versions}  # fmt: skip
    if name is None and (name := own.get(kind)) is None:
        return None
    return Shape({"$ref": name, "properties": _COMMON})


def known_types() -> Iterator[tuple[str, str]]:
    """Yield the `apiVersion` and kind of every kind that has a shape."""
    for kind in kinds():
        yield from ((f"{kind.group}/{version.name}", kind.kind) for version in kind.versions)
    for gvk in known_kinds():
        yield "/".join(filter(None, gvk[:2])), gvk.kind


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
