"""Copies a chart to where Helm may read it, with everything checked that Helm would follow.

Source of what is known of dependencies: Helm, pkg/chart/v2/util/dependencies.go.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import yaml

from chartkit.documents.input_files import checkout_top
from chartkit.documents.reader import Document, read_text
from chartkit.errors import InputError, MissingChartError
from chartkit.helm.chart_folder import Entry, entries, read
from chartkit.helm.chart_values import merge
from chartkit.helm.model import ChartError, bounded
from chartkit.helm.references import check_references
from chartkit.model import Body, Location, mapping_at, mappings_at, text_of, texts_of, value_at

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
        from chartkit.helm.chart_folder import packed, unpacked

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

    Only charts in the same checkout of git are taken, without one those in the folder above.
    """
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
        names = ", ".join(f"'{dependency.name}'" for dependency in needed)
        noun = "chart" if len(needed) == 1 else "charts"
        verb = "is" if len(needed) == 1 else "are"
        message = f"depends on the {noun} {names}, which {verb} not in its charts/"
        hint = f"helm dependency build {chart}"
        raise MissingChartError(message, needed[0].place, hint)


def _documents(content: bytes, name: str) -> list[Document]:
    try:
        return read_text(content.decode("utf-8-sig", "replace"), name)
    except InputError:
        return []
