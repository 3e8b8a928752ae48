"""Copies a chart to where Helm may read it, with everything checked that Helm would follow.

A reference of `values.schema.json` that leads out of the document is one of these: Helm gives the
schema the URL file:///values.schema.json, and reads files or asks the network. What `urn:` names
it resolves nowhere: Helm 4 takes any value there, Helm 3 refuses the schema. Source: Helm,
pkg/chart/common/util/jsonschema.go, and its library santhosh-tekuri/jsonschema v6.

Source of what is known of dependencies: Helm, pkg/chart/v2/util/dependencies.go.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from chartkit.documents.input_files import checkout_top
from chartkit.documents.reader import Document, read_text
from chartkit.errors import InputError, MissingChartError
from chartkit.helm.chart_folder import Entry, entries, packed, read, unpacked
from chartkit.helm.chart_values import merge
from chartkit.helm.model import ChartError, bounded
from chartkit.model import (
    Body,
    Json,
    Location,
    mapping_at,
    mappings_at,
    text_of,
    texts_of,
    value_at,
)

_Resolver = Any
_URL: Final = "file:///values.schema.json"
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_DIALECT: Final = "$schema"
_NEWEST: Final = "https://json-schema.org/draft/2020-12/schema"
_MOST: Final = 100_000
_DATA: Final = frozenset({"const", "default", "enum", "example", "examples"})
"""Keywords whose values are not schemas."""
_BY_NAME: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords whose keys are names."""
_DRAFT: Final = re.compile(
    r"https?://json-schema\.org/(?:schema|draft-0[467]/schema|draft/(?:2019-09|2020-12)/"
    r"(?:schema|meta/(?:core|applicator|unevaluated|validation|meta-data|content|format"
    r"|format-annotation|format-assertion)))"
)
"""The meta-schemas that Helm carries."""
_URN: Final = re.compile(r"urn:", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[\w.~:/?#@!$&'()*+,;=%-]*", re.ASCII)
_BOM: Final = b"\xef\xbb\xbf"
_HINT: Final = (
    "chartkit reads no URL and no file for a chart: copy what is referred to into the schema's "
    "own $defs"
)


def check_references(content: bytes, file: str) -> list[str]:
    """Return the `urn:` references that nothing in a schema resolves; file: its path in the chart.
    Raises ChartError for the first reference that leads out of it, and for a schema that cannot be
    read."""
    try:
        text = content.removeprefix(_BOM).decode("utf-8", "replace")
        schema = json.loads(text, parse_int=float)
        suspect = next(_suspects(schema), None)
        return [] if suspect is None else _Walk(file).check(schema, suspect)
    except RecursionError:
        raise ChartError("is nested too deep", file) from None
    except ValueError as error:
        raise ChartError(f"is not JSON: {error}", file) from None


def _suspects(value: Json) -> Iterator[str]:
    """References, anywhere and in any sense, that are more than a fragment."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _REFERENCES and isinstance(inner, str):
                yield from [inner] * (not inner.startswith("#"))
            elif key == _DIALECT and isinstance(inner, str):
                yield from [inner] * (not _is_draft(inner))
            else:
                yield from _suspects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _suspects(inner)


def _is_draft(url: str) -> bool:
    return bool(_DRAFT.fullmatch(url.partition("#")[0]))


class _Walk:
    """A look at each place where a schema may be, and at each that a reference makes one."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._unresolved: dict[str, None] = {}
        self._known: dict[int, _Resolver] = {}
        self._draft: Any = None

    def check(self, schema: Json, suspect: str) -> list[str]:
        """Return the references that nothing resolves; raises ChartError for one that leads out."""
        from referencing import Registry

        schema = _normal(schema)
        dialect = schema.get(_DIALECT) if isinstance(schema, dict) else None
        if isinstance(schema, dict) and isinstance(dialect, str) and _is_urn(dialect):
            # The newest draft counts in place of one that a URN names, as in Helm.
            self._unresolved[dialect] = None
            schema = schema | {_DIALECT: _NEWEST}
        self._draft = _specification(schema, _NEWEST)
        resource = self._draft.create_resource(schema)
        try:
            resolver = Registry().with_resource(_URL, resource).crawl().resolver(_URL)
            # The resolver of each schema below the keywords of its draft.
            pending: list[tuple[Any, _Resolver]] = [(resource, resolver)]
            while pending:
                part, above = pending.pop()
                own = above.in_subresource(part)
                self._known[id(part.contents)] = own
                pending.extend((subresource, own) for subresource in part.subresources())
            self._visit(resource.contents, resolver.in_subresource(resource))
        except (AttributeError, KeyError, TypeError):
            # A keyword's value is of the wrong type, which `referencing` does not expect.
            raise _leads_out("$ref", suspect, self._file) from None
        return list(self._unresolved)

    def _visit(self, schema: Json, resolver: _Resolver) -> None:
        pending = [(schema, resolver)]
        seen: set[tuple[int, str]] = set()
        while pending:
            value, resolver = pending.pop()
            visit = (id(value), resolver._base_uri)
            if visit not in seen:
                seen.add(visit)
                pending.extend(self._parts(value, resolver))
            if len(seen) > _MOST:
                raise ChartError("has too many references", self._file)

    def _parts(self, value: Json, resolver: _Resolver) -> Iterator[tuple[Json, _Resolver]]:
        """Yield the schemas in a schema, and the schemas that it refers to."""
        if isinstance(value, list):
            yield from (self._within(inner, resolver) for inner in value)
        if not isinstance(value, dict):
            return
        for key, inner in value.items():
            if key in _REFERENCES and isinstance(inner, str):
                yield from self._referred(inner, resolver)
            elif key == _DIALECT and isinstance(inner, str):
                if not _is_draft(inner):
                    raise _leads_out(_DIALECT, inner, self._file)
            elif key in _BY_NAME and isinstance(inner, dict):
                yield from (self._within(member, resolver) for member in inner.values())
            elif key not in _DATA:
                yield self._within(inner, resolver)

    def _referred(self, reference: str, resolver: _Resolver) -> Iterator[tuple[Json, _Resolver]]:
        from referencing.exceptions import NoSuchAnchor, PointerToNowhere, Unresolvable

        if _is_draft(reference):
            return
        if not _PLAIN.fullmatch(reference):
            # Python and Go need not agree on what such a URL means.
            raise _leads_out("$ref", reference, self._file)
        try:
            resolved = resolver.lookup(reference)
        except (NoSuchAnchor, PointerToNowhere):
            # Nothing is there: Helm says so, without leaving the document.
            return
        except Unresolvable:
            if _is_urn(reference):
                self._unresolved[reference] = None
                return
            raise _leads_out("$ref", reference, self._file) from None
        yield self._within(resolved.contents, resolved.resolver)

    def _within(self, value: Json, resolver: _Resolver) -> tuple[Json, _Resolver]:
        """A value, and where references in it start from; resolver: those around it."""
        if not isinstance(value, dict):
            return value, resolver
        inner = self._known.get(id(value))
        if inner is not None:
            return value, inner
        specification = _specification(value, self._draft)
        return value, resolver.in_subresource(specification.create_resource(value))


def _is_urn(url: str) -> bool:
    return bool(_PLAIN.fullmatch(url) and _URN.match(url))


def _specification(schema: Json, otherwise: Any) -> Any:
    """The specification that a schema names; otherwise: one, or the URL of its dialect."""
    from referencing.jsonschema import specification_with

    dialect = schema.get(_DIALECT) if isinstance(schema, dict) else None
    if isinstance(dialect, str):
        return specification_with(_canonical(dialect))
    return specification_with(otherwise) if isinstance(otherwise, str) else otherwise


def _normal(value: Json) -> Json:
    """A schema whose dialects are written as their specification does."""
    if isinstance(value, list):
        return [_normal(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    normal = {}
    for key, inner in value.items():
        if key == _DIALECT and isinstance(inner, str):
            normal[key] = _canonical(inner) if _is_draft(inner) else inner
        else:
            normal[key] = inner if key in _DATA else _normal(inner)
    return normal


def _canonical(dialect: str) -> str:
    name = dialect.partition("#")[0].partition("://")[2]
    if name.startswith("json-schema.org/draft-0"):
        return f"http://{name}"
    return f"https://{name}" if name.endswith(("09/schema", "12/schema")) else _NEWEST


def _leads_out(key: str, url: str, file: str) -> ChartError:
    return ChartError(f"its {key} leads out of the schema, to {url}", file, _HINT)


_KEPT: Final = 32
"""Copies of charts that are kept for the next question about them."""
_SUBCHARTS: Final = "charts/"
_SCHEMA: Final = "values.schema.json"
_OPEN: Final = "any value is taken there"
_DEEPEST: Final = 16
_MANIFESTS: Final = (".yaml", ".yml", ".json")

_FILES: Final = ("Chart.yaml", "requirements.yaml")
_BESIDE: Final = "file://"
_DEEPEST_BESIDE: Final = 8


@dataclass(frozen=True, slots=True)
class Dependency:
    """A chart on which another one depends. place: of its name; condition: paths of values that
    switch it, with commas between them."""

    name: str
    place: Location
    repository: str
    condition: str
    tags: tuple[str, ...]

    def is_off(self, values: Body) -> bool:
        """Report whether values switch the dependency off, as Helm reads conditions and tags."""
        for path in self.condition.split(","):
            switch = value_at(values, path.strip().split("."))
            if isinstance(switch, bool):
                return not switch
        tags = [mapping_at(values, "tags").get(tag) for tag in self.tags]
        return False in tags and True not in tags


@dataclass(frozen=True, slots=True)
class StagedChart:
    """A checked copy of a chart; crds: its texts below `crds/`, as `Gateway.crds` gives them;
    warnings: what its schemas refer to that Helm passes over; missing: the charts on which it
    depends and which are not in its `charts/`; defaults: its values, where charts are missing."""

    folder: Path
    crds: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    missing: tuple[Dependency, ...] = ()
    defaults: Body = field(default_factory=dict)


class Stage:
    """The folder with the copies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, tuple[list[Entry], StagedChart]] = OrderedDict()

    def staged(self, chart: Path) -> StagedChart:
        """A copy of a chart as it is now. Raises ChartError for what leads out of it: links, and
        references of schemas."""
        listed = chart_entries(chart)
        with self._lock:
            kept = self._kept.get(chart)
            if kept is not None and kept[0] == listed:
                self._kept.move_to_end(chart)
                return kept[1]
            staged = self._copied(chart, listed)
            self._kept[chart] = (listed, staged)
            if len(self._kept) > _KEPT:
                _, (_, oldest) = self._kept.popitem(last=False)
                shutil.rmtree(oldest.folder.parent, ignore_errors=True)
            return staged

    def _copied(self, chart: Path, listed: list[Entry]) -> StagedChart:
        files = {entry.name: read(entry.path, entry.name) for entry in listed if not entry.folder}
        unresolved: list[str] = []
        subcharts = _subcharts(files)
        names = [name if inside is None else _name(inside) for name, inside in subcharts.items()]
        # The dependencies of a chart that are not in its `charts/`; names: of the charts and packed
        # files that are.
        there = set(names)
        dependencies = (dependency for dependency in _dependencies(files) if dependency.name)
        absent = tuple(
            dependency for dependency in dependencies if not _has(there, dependency.name)
        )
        # None for a text that Helm refuses.
        texts = _documents(files.get("values.yaml", b""), "values.yaml") if absent else []
        defaults = next((text.body for text in texts if isinstance(text.body, dict)), {})
        crds = dict(_checked(files, "", "", unresolved))
        folder = Path(tempfile.mkdtemp(dir=self._folder)) / (chart.resolve().name or "chart")
        folder.mkdir()
        for entry in listed:
            if entry.folder:
                (folder / entry.name).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return StagedChart(folder, crds, bounded(unresolved), absent, defaults)


def _checked(
    files: dict[str, bytes], prefix: str, above: str, unresolved: list[str], depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Check the schemas of a chart and its subcharts, and replace archives of subcharts by their
    files; yield the texts of custom resource definitions by name.

    prefix: the chart's path in the whole one; above: the name that Helm gives the chart above it;
    unresolved: takes a line for each reference of a schema that is replaced by "anything".
    """
    if depth > _DEEPEST:
        raise ChartError(f"has subcharts more than {_DEEPEST} deep", prefix)
    if _SCHEMA in files:
        for url in check_references(files[_SCHEMA], prefix + _SCHEMA):
            unresolved.append(f"{prefix}{_SCHEMA} refers to {url}, which is not resolved: {_OPEN}")
    crds = [name for name in files if name.startswith("crds/") and name.endswith(_MANIFESTS)]
    subcharts = _subcharts(files)
    full = above + _name(files) if crds or subcharts else ""
    for name in crds:
        yield f"{full}/{name}", files[name].decode("utf-8", "replace").removeprefix("\ufeff")
    for subchart, inside in subcharts.items():
        where = f"{prefix}{_SUBCHARTS}{subchart}"
        if inside is not None:
            yield from _checked(inside, f"{where}/", f"{full}/{_SUBCHARTS}", unresolved, depth + 1)
            continue
        inside = unpacked(files[_SUBCHARTS + subchart], where)
        yield from _checked(inside, f"{where}/", f"{full}/{_SUBCHARTS}", unresolved, depth + 1)
        files[_SUBCHARTS + subchart] = packed(inside, "chart")


def _subcharts(files: Mapping[str, bytes]) -> dict[str, dict[str, bytes] | None]:
    """The files of each subchart by its name below `charts/`; None for a packed one."""
    subcharts: dict[str, dict[str, bytes] | None] = {}
    for file, content in files.items():
        if not file.startswith(_SUBCHARTS) or file.endswith(".prov"):
            continue
        name, _, inside = file.removeprefix(_SUBCHARTS).partition("/")
        if name.startswith(("_", ".")):
            continue
        if name.endswith(".tgz"):
            if not inside:
                subcharts[name] = None
        elif inside:
            below = subcharts.setdefault(name, {})
            assert below is not None
            below[inside] = content
    return subcharts


def _name(files: Mapping[str, bytes]) -> str:
    """A chart's name in Chart.yaml, empty where it cannot be read: Helm says why."""
    try:
        metadata = yaml.safe_load(files.get("Chart.yaml", b""))
    except (yaml.YAMLError, RecursionError):
        return ""
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


def _dependencies(files: Mapping[str, bytes]) -> Iterator[Dependency]:
    """Yield the dependencies of a chart; files: of the chart, by their names."""
    for name in _FILES:
        content = files.get(name, b"")
        if b"dependencies" not in content:
            continue
        for document in _documents(content, name):
            for at, dependency in enumerate(mappings_at(document.body, "dependencies")):
                yield Dependency(
                    text_of(dependency.get("name")),
                    document.locate("dependencies", at, "name"),
                    text_of(dependency.get("repository")),
                    text_of(dependency.get("condition")),
                    tuple(texts_of(dependency.get("tags"))),
                )


def chart_entries(chart: Path) -> list[Entry]:
    """Return the files that Helm reads of a chart, and the charts beside it on which it depends,
    below `charts/`. Raise ChartError and OSError."""
    listed = entries(chart)
    return [*listed, *_beside(chart, listed)]


def write_copy(chart: Path, folder: Path, texts: Mapping[str, str]) -> None:
    """Write what Helm reads of a chart to another folder, some files with another text, by their
    paths in the chart. Raise ChartError and OSError."""
    for entry in chart_entries(chart):
        target = folder / entry.name
        if entry.folder:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        text = texts.get(entry.name)
        target.write_bytes(read(entry.path, entry.name) if text is None else text.encode())


def _beside(chart: Path, listed: list[Entry], depth: int = 0) -> Iterator[Entry]:
    """Yield the files of the charts beside a chart on which it depends (`file://../common`), as if
    they were in its `charts/`, where `helm dependency build` puts them. listed: the chart's own.
    Only charts in the same checkout of git are taken, without one those in the folder above."""
    own = {entry.name: entry.path for entry in listed if entry.name in _FILES}
    files = {name: read(path, name) for name, path in own.items()}
    if depth == _DEEPEST_BESIDE or not any(_BESIDE.encode() in file for file in files.values()):
        return
    names = {entry.name.split("/")[1] for entry in listed if entry.name.startswith(_SUBCHARTS)}
    real = Path(os.path.realpath(chart))
    root = checkout_top(real.parent) or real.parent
    for dependency in {dependency.name: dependency for dependency in _dependencies(files)}.values():
        if not dependency.repository.startswith(_BESIDE) or _has(names, dependency.name):
            continue
        folder = Path(os.path.realpath(chart / dependency.repository.removeprefix(_BESIDE)))
        if folder.is_relative_to(root) and (folder / "Chart.yaml").is_file():
            inside = entries(folder)
            subchart = f"{_SUBCHARTS}{dependency.name}"
            yield Entry(subchart, str(folder), True, (0, 0, 0, 0))
            for entry in (*inside, *_beside(folder, inside, depth + 1)):
                yield replace(entry, name=f"{subchart}/{entry.name}")


def _has(names: Iterable[str], chart: str) -> bool:
    packed = re.compile(rf"{re.escape(chart)}(-v?\d.*)?\.tgz")
    return any(name == chart or packed.fullmatch(name) for name in names)


def require(chart: Path, absent: Iterable[Dependency], defaults: Body, values: Body) -> None:
    """Raise MissingChartError for missing charts, unless values switch them off."""
    needed = [dependency for dependency in absent if not dependency.is_off(merge(defaults, values))]
    if needed:
        names = [f"'{name}'" for name in dict.fromkeys(item.name for item in needed)]
        noun, verb = ("chart", "is") if len(names) == 1 else ("charts", "are")
        message = f"depends on the {noun} {', '.join(names)}, which {verb} not in its charts/"
        hint = f"helm dependency build {chart}"
        raise MissingChartError(message, needed[0].place, hint)


def _documents(content: bytes, name: str) -> list[Document]:
    try:
        return read_text(content.decode("utf-8-sig", "replace"), name)
    except InputError:
        return []
