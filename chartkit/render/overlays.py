"""The charts of all environments as Kustomize folders, `kustomize/<chart>/`.

What is the same in every environment is in `base/`, what is not in `overlays/<env>/`, whole and not
as patches, so that an overlay can be read. Helm's hooks have no counterpart there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from chartkit.charts.plan import ENGINE
from chartkit.charts.upstream.chart_files import METADATA
from chartkit.documents.reader import read_source, read_text
from chartkit.documents.yaml_dump import dump_documents, dump_yaml
from chartkit.model import Body, Resource
from chartkit.output.write import Tree
from chartkit.render.chart import Chart, CheckTarget
from chartkit.render.model import KUSTOMIZE


def trees(root: Path, subjects: Sequence[CheckTarget]) -> Iterator[Tree]:
    """Yield a folder for each chart; root: the project's. Raise RenderError."""
    engines = {
        each.environment.file_name: each.engine for each in subjects if each.engine is not None
    }
    policies = {target.environment.file_name: target.policies for target in subjects}
    if engines:
        rendered = {name: _installed(chart, _plain(chart)) for name, chart in engines.items()}
        yield _tree(root, ENGINE, overlays(rendered))
    for charts in (policies, *_others(subjects)):
        rendered = {name: _installed(chart) for name, chart in charts.items()}
        yield _tree(root, next(iter(charts.values())).name, overlays(rendered))


def _others(subjects: Sequence[CheckTarget]) -> Iterator[dict[str, Chart]]:
    """Yield further charts by environment; every environment has the same ones."""
    for at in range(len(subjects[0].others)):
        yield {target.environment.file_name: target.others[at] for target in subjects}


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
    folder = root / KUSTOMIZE / name
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.yaml")}
    stale = frozenset(each for each in there - files.keys() if is_written(folder / each))
    return Tree(folder, files, stale)


_API = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
_HEADER = "# Written by chartkit render --kustomize; an edit is lost.\n"
_DEFINITION = "CustomResourceDefinition"


def overlays(rendered: Mapping[str, Sequence[Resource]]) -> dict[str, str]:
    """The files of one chart's base and overlays, by path.

    rendered: what is installed, by environment.
    """
    sides = [frozenset(map(_text, found)) for found in rendered.values()]
    common = frozenset.intersection(*sides) if sides else frozenset()
    base = [each.body for each in next(iter(rendered.values()), ()) if _text(each) in common]
    # Kustomize refuses a base without anything in it.
    files = dict(_folder("base", [], base)) if base else {}
    for name, resources in rendered.items():
        own = [resource.body for resource in resources if _text(resource) not in common]
        files.update(_folder(f"overlays/{name}", ["../../base"] if base else [], own))
    return files


def is_written(file: Path) -> bool:
    """Report whether chartkit wrote a file there."""
    return read_source(file).startswith(_HEADER)


def _text(resource: Resource) -> str:
    return json.dumps(resource.body, sort_keys=True)


def _folder(folder: str, below: Sequence[str], bodies: Sequence[Body]) -> Iterator[tuple[str, str]]:
    """One kustomization: its objects, the definitions in a file of their own."""
    parts = {
        "crds.yaml": [body for body in bodies if body["kind"] == _DEFINITION],
        "objects.yaml": [body for body in bodies if body["kind"] != _DEFINITION],
    }
    written = [name for name, found in parts.items() if found]
    for name in written:
        yield f"{folder}/{name}", _HEADER + dump_documents(parts[name])
    kustomization: Body = {**_API, "resources": [*below, *written]}
    yield f"{folder}/kustomization.yaml", _HEADER + dump_yaml(kustomization)
