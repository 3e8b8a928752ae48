"""The charts of all environments as Kustomize folders, `kustomize/<chart>/`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from chartkit.charts.engine import chart as engine_chart
from chartkit.charts.upstream.chart_files import METADATA
from chartkit.documents.reader import read_text
from chartkit.model import Body, Resource
from chartkit.output.kustomize import is_written, overlays
from chartkit.output.write import Tree
from chartkit.render.chart import Chart
from chartkit.render.environment import Subject

FOLDER: Final = "kustomize"


def trees(root: Path, subjects: Sequence[Subject]) -> Iterator[Tree]:
    """Yield a folder for each chart; root: the project's. Raise RenderError."""
    engines = {each.environment.name: each.engine for each in subjects if each.engine is not None}
    policies = {each.environment.name: each.policies for each in subjects}
    if engines:
        rendered = {name: _installed(chart, _plain(chart)) for name, chart in engines.items()}
        yield _tree(root, engine_chart.CHART_NAME, overlays(rendered))
    for charts in (policies, *_others(subjects)):
        rendered = {name: _installed(chart) for name, chart in charts.items()}
        yield _tree(root, next(iter(charts.values())).name, overlays(rendered))


def _others(subjects: Sequence[Subject]) -> Iterator[dict[str, Chart]]:
    """Yield further charts by environment; every environment has the same ones."""
    for at in range(len(subjects[0].others)):
        yield {each.environment.name: each.others[at] for each in subjects}


def _plain(chart: Chart) -> Body:
    """Return values of the engine chart for an installation without Helm: no hooks, and the
    namespace among the objects. Upstream's chart has them from 3.1 on."""
    defaults = chart.files.document("values.yaml").body or {}
    if "templating" not in (defaults.get("global") or {}):
        return {}
    (metadata,) = read_text(chart.files.tree.files[METADATA], METADATA)
    version = metadata.body["version"]
    return {"global": {"templating": {"enabled": True, "version": version}}}


def _installed(chart: Chart, *over: Body) -> list[Resource]:
    rendered = chart.start_rendering(*over).result()
    return [*rendered.crds, *rendered.resources]


def _tree(root: Path, name: str, files: dict[str, str]) -> Tree:
    """Return the tree of a chart's overlays, which removes files that are no longer generated."""
    folder = root / FOLDER / name
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.yaml")}
    stale = frozenset(each for each in there - files.keys() if is_written(folder / each))
    return Tree(folder, files, stale)
