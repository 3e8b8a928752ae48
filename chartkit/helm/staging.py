"""Copies a chart to where Helm may read it, with everything checked that Helm would follow."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from chartkit.helm.chart_folder import Entry, entries, read
from chartkit.helm.model import ChartError, bounded
from chartkit.helm.references import check_references

_KEPT: Final = 32
"""Copies of charts that are kept for the next question about them."""
_SUBCHARTS: Final = "charts/"
_SCHEMA: Final = "values.schema.json"
_OPEN: Final = "any value is taken there"
_DEEPEST: Final = 16
_MANIFESTS: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class StagedChart:
    """A checked copy of a chart; crds: its texts below `crds/`, as `Gateway.crds` gives them;
    warnings: what its schemas refer to that Helm passes over."""

    folder: Path
    crds: Mapping[str, str]
    warnings: tuple[str, ...] = ()


class Stage:
    """The folder with the copies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, tuple[list[Entry], StagedChart]] = OrderedDict()

    def staged(self, chart: Path) -> StagedChart:
        """A copy of a chart as it is now. Raises ChartError for what leads out of it: links, and
        references of schemas."""
        found = entries(chart)
        with self._lock:
            kept = self._kept.get(chart)
            if kept is not None and kept[0] == found:
                self._kept.move_to_end(chart)
                return kept[1]
            staged = self._copied(chart, found)
            self._kept[chart] = (found, staged)
            if len(self._kept) > _KEPT:
                _, (_, oldest) = self._kept.popitem(last=False)
                shutil.rmtree(oldest.folder.parent, ignore_errors=True)
            return staged

    def _copied(self, chart: Path, found: list[Entry]) -> StagedChart:
        files = {each.name: read(each.path, each.name) for each in found if not each.folder}
        unresolved: list[str] = []
        crds = dict(_checked(files, "", "", unresolved))
        folder = Path(tempfile.mkdtemp(dir=self._folder)) / (chart.resolve().name or "chart")
        folder.mkdir()
        for each in found:
            if each.folder:
                (folder / each.name).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return StagedChart(folder, crds, bounded(unresolved))


def _checked(
    files: dict[str, bytes], place: str, above: str, unresolved: list[str], depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Checks the schema of a chart and those of its subcharts, and puts packed ones in the place of
    what they were packed in; gives the texts of custom resource definitions by name.

    place: the chart's path in the whole one; above: the name that Helm gives the chart above it;
    unresolved: takes a line for each reference of a schema that stands for anything.
    """
    if depth > _DEEPEST:
        raise ChartError(f"has subcharts more than {_DEEPEST} deep", place)
    if _SCHEMA in files:
        for url in check_references(files[_SCHEMA], place + _SCHEMA):
            unresolved.append(f"{place}{_SCHEMA} refers to {url}, which nobody resolves: {_OPEN}")
    crds = [name for name in files if name.startswith("crds/") and name.endswith(_MANIFESTS)]
    subcharts = _subcharts(files)
    full = above + _name(files) if crds or subcharts else ""
    for name in crds:
        yield f"{full}/{name}", files[name].decode("utf-8", "replace").removeprefix("\ufeff")
    for subchart, inside in subcharts.items():
        where = f"{place}{_SUBCHARTS}{subchart}"
        if inside is not None:
            yield from _checked(inside, f"{where}/", f"{full}/{_SUBCHARTS}", unresolved, depth + 1)
            continue
        from chartkit.helm.packed import packed, unpacked

        inside = unpacked(files[_SUBCHARTS + subchart], where)
        yield from _checked(inside, f"{where}/", f"{full}/{_SUBCHARTS}", unresolved, depth + 1)
        files[_SUBCHARTS + subchart] = packed(inside, "chart")


def _subcharts(files: Mapping[str, bytes]) -> dict[str, dict[str, bytes] | None]:
    """The files of each subchart by its name below `charts/`; None for a packed one."""
    found: dict[str, dict[str, bytes] | None] = {}
    for file, content in files.items():
        if not file.startswith(_SUBCHARTS) or file.endswith(".prov"):
            continue
        name, _, inside = file.removeprefix(_SUBCHARTS).partition("/")
        if name.startswith(("_", ".")):
            continue
        if name.endswith(".tgz"):
            if not inside:
                found[name] = None
        elif inside:
            below = found.setdefault(name, {})
            assert below is not None
            below[inside] = content
    return found


def _name(files: Mapping[str, bytes]) -> str:
    """A chart's name in Chart.yaml, empty where it cannot be read: Helm says why."""
    try:
        metadata = yaml.safe_load(files.get("Chart.yaml", b""))
    except yaml.YAMLError:
        return ""
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
