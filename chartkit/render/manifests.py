"""The files that render writes of objects: manifests, `rendered/<env>/`, compared with those
on disk, and Kustomize folders, `kustomize/<chart>/`.

A record next to the manifests distinguishes an edit of values by hand, which the next render
applies, from manifests that do not belong to the charts: edited ones, or those of an interrupted
render. In a Kustomize folder, what is the same in every environment is in `base/`, what is not in
`overlays/<env>/`, whole and not as patches, so that an overlay can be read. Helm's hooks have no
counterpart there.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from chartkit.charts.plan import ENGINE, NAMES
from chartkit.charts.upstream.chart_files import METADATA
from chartkit.documents.json_text import parse_json
from chartkit.documents.reader import read_source, read_text
from chartkit.documents.yaml_dump import dump_documents, dump_yaml
from chartkit.errors import InputError
from chartkit.helm.kept import may_differ
from chartkit.model import Body, Location, Resource
from chartkit.output import write
from chartkit.output.write import Tree
from chartkit.render.chart import ALL, Chart, CheckTarget
from chartkit.render.compare import policy_risks
from chartkit.render.compare.fields import compare, identity
from chartkit.render.compare.risk import Level, generators
from chartkit.render.model import KUSTOMIZE, Outcome, Row
from chartkit.wording import abridged

_RECORD: Final = ".chartkit"
"""A file that `kubectl apply` of the folder leaves alone, as its name has no suffix."""
_API = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
_HEADER = "# Written by chartkit render --kustomize; an edit is lost.\n"
_DEFINITION = "CustomResourceDefinition"
_RISK: Final = "risk"
_WORD: Final = "generate"
"""A word in the text of every policy that generates, in either form."""
_BORDER: Final = re.compile(r"^---", re.MULTILINE)
_KEEP: Final = (
    "to keep the objects, first install the policy with orphanDownstreamOnPolicyDelete switched on,"
    " and change it only then"
)


def manifests(folder: Path, subject: CheckTarget) -> Tree:
    """Return the objects that each chart installs in an environment, CRDs first, one file a chart.
    folder: for all environments. Raise RenderError."""
    own = folder / subject.environment.file_name
    files, record = dict[str, str](), dict[str, Body]()
    for chart in subject.charts:
        crds = [resource.body for resource in chart.rendered().crds]
        manifest = chart.manifest().rstrip("\n") + "\n"
        name = f"{chart.name}.yaml"
        files[name] = dump_documents(crds) + manifest
        # A digest of the chart without what people wrote into its values.
        generated = sorted(
            (name, text) for name, text in chart.files.tree.files.items() if write.is_record(name)
        )
        record[name] = {"manifests": _digest(files[name]), "chart": _digest(json.dumps(generated))}
    files[_RECORD] = json.dumps(record, indent=2) + "\n"
    stale = (f"{name}.yaml" for name in NAMES)
    return Tree(own, files, frozenset(name for name in stale if name not in files))


def uncompared(folder: Path) -> Row:
    """Return a note on a folder of manifests that is not there, as many do not commit it."""
    hint = "`chartkit render` writes it, unless chartkit.yaml says `manifests: null`"
    message = "is not there, and was not compared"
    return Row(ALL, "files", Outcome.NOTE, message, Location(str(folder)), hint)


def drift(trees: Sequence[Tree]) -> tuple[str, list[Row]]:
    """Return a unified diff from the manifests on disk to the generated ones, and a row for those
    that were not compared: an edit of values has changed them since."""
    parts, rows = list[str](), list[Row]()
    for tree in trees:
        edited = set(_behind_an_edit(tree))
        rest = {name: text for name, text in tree.files.items() if name not in {*edited, _RECORD}}
        compared = replace(tree, files=rest)
        parts.append(write.drift(compared))
        for name in sorted(edited):
            message = "is older than the values, which were edited by hand since"
            location, hint = Location(str(tree.folder / name)), "`chartkit render` updates it"
            rows.append(Row(tree.folder.name, "files", Outcome.NOTE, message, location, hint))
        rows += drift_rows(compared)
    return "".join(parts), rows


def drift_rows(tree: Tree) -> Iterator[Row]:
    """Yield a row where a folder on disk differs from what is generated."""
    if not (names := write.drifted(tree)):
        return
    own = [name for name in names if not write.is_record(name)]
    is_there = tree.folder.exists()
    message = f"differs from what chartkit.yaml gives: {abridged(own or names)}"
    yield Row(
        ALL,
        "files",
        Outcome.FAIL,
        message if is_there else "is not there",
        Location(str(tree.folder)),
        "`chartkit render` writes it",
    )


def _behind_an_edit(tree: Tree) -> Iterator[str]:
    """Yield the files that are as they were written, of the same charts as now, and differ."""
    try:
        record = parse_json(read_source(tree.folder / _RECORD))
    except (InputError, ValueError):
        return
    wanted = json.loads(tree.files[_RECORD])
    for name, own in wanted.items():
        file = tree.folder / name
        before = record.get(name) if isinstance(record, dict) else None
        if not isinstance(before, dict) or not file.is_file() or own == before:
            continue
        untouched = before.get("manifests") == _digest(read_source(file))
        if untouched and before.get("chart") == own["chart"]:
            yield name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def is_repeatable(subjects: Sequence[CheckTarget]) -> bool:
    """Report whether the charts of environments, and their policies, give the same result again."""
    charts = [chart for target in subjects for chart in target.charts]
    policies = (text for target in subjects for text in target.policies.rendered().texts.values())
    return not may_differ(policies) and not any(may_differ(_evaluated(chart)) for chart in charts)


def _evaluated(chart: Chart) -> Iterator[str]:
    """The texts that Helm evaluates: values, helpers, and templates that give something."""
    rendered = chart.rendered().texts
    for name, text in chart.files.tree.files.items():
        file = name.rpartition("/")[2]
        is_given = file.startswith("_") or (file.startswith("values") and file.endswith(".yaml"))
        if is_given or rendered.get(f"{chart.name}/{name}", "").strip():
            yield text


def overlay_trees(root: Path, subjects: Sequence[CheckTarget]) -> Iterator[Tree]:
    """Yield a folder for each chart; root: the project's. Raise RenderError."""
    engines = {
        item.environment.file_name: item.engine for item in subjects if item.engine is not None
    }
    policies = {target.environment.file_name: target.policies for target in subjects}
    if engines:
        rendered = {name: _installed(chart, _plain(chart)) for name, chart in engines.items()}
        yield _tree(root, ENGINE, overlays(rendered))
    # Every environment has the same further charts.
    further = (
        {target.environment.file_name: target.others[at] for target in subjects}
        for at in range(len(subjects[0].others))
    )
    for charts in (policies, *further):
        rendered = {name: _installed(chart) for name, chart in charts.items()}
        yield _tree(root, next(iter(charts.values())).name, overlays(rendered))


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
    stale = frozenset(path for path in there - files.keys() if is_written(folder / path))
    return Tree(folder, files, stale)


def overlays(rendered: Mapping[str, Sequence[Resource]]) -> dict[str, str]:
    """The files of one chart's base and overlays, by path. rendered: what is installed, by
    environment."""
    sides = [frozenset(map(_text, side)) for side in rendered.values()]
    common = frozenset.intersection(*sides) if sides else frozenset()
    base = [item.body for item in next(iter(rendered.values()), ()) if _text(item) in common]
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
    written = [name for name, held in parts.items() if held]
    for name in written:
        yield f"{folder}/{name}", _HEADER + dump_documents(parts[name])
    kustomization: Body = {**_API, "resources": [*below, *written]}
    yield f"{folder}/kustomization.yaml", _HEADER + dump_yaml(kustomization)


def removed_generators(subject: CheckTarget) -> Iterable[Row]:
    """Yield a row for each generating policy of the last render whose objects may be deleted."""
    folder = subject.project.manifests
    if folder is None:
        return
    file = folder / subject.environment.file_name / f"{subject.policies.name}.yaml"
    if not file.is_file():
        return
    try:
        before = list(_generating(read_source(file), str(file)))
    except InputError as error:
        location = error.location or Location(str(file))
        message = f"generating policies were not compared with the last render: {error.message}"
        hint = "`chartkit render` replaces the file"
        yield Row(subject.environment.name, _RISK, Outcome.NOTE, message, location, hint)
        return
    if not before:
        return
    locations = {identity(resource): resource.location for resource in before}
    now = [item for item in subject.policies.rendered().resources if identity(item) in locations]
    for change in compare(before, now):
        for risk in generators(change):
            high = risk.level is Level.HIGH
            rules = policy_risks.going(change.before or {}, change.after)
            named = [name for name in rules if name]
            which = f"{change.identity} goes"
            if change.after is not None and named:
                which = f"{change.identity} loses {', '.join(named)}"
            kinds = policy_risks.kinds(rules.values())
            sentence = f"{which} (generates {', '.join(kinds)})" if kinds else which
            yield Row(
                subject.environment.name,
                _RISK,
                Outcome.WARNING if high else Outcome.NOTE,
                f"{sentence}: {risk.reason}",
                locations[change.identity],
                _KEEP if high else None,
            )


def _generating(text: str, file: str) -> Iterator[Resource]:
    """Yield the policies of a text that may generate; only their documents are parsed."""
    if _WORD not in text:
        return
    borders = [0, *(match.start() for match in _BORDER.finditer(text)), len(text)]
    for start, end in itertools.pairwise(borders):
        if text.find(_WORD, start, end) < 0:
            continue
        lines_before = "\n" * text.count("\n", 0, start)  # For places to be those of the file.
        for document in read_text(lines_before + text[start:end], file):
            if isinstance(document.body, dict):
                yield Resource(document.body, document.location)
