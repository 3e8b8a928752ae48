"""The manifests of an environment, `rendered/<env>/`, compared with those on disk.

A record next to them distinguishes an edit of values by hand, which the next render applies, from
manifests that do not belong to the charts: edited ones, or those of an interrupted render.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from chartkit.charts.plan import NAMES
from chartkit.documents.json_text import parse_json
from chartkit.documents.reader import read_source
from chartkit.documents.yaml_dump import dump_documents
from chartkit.errors import InputError
from chartkit.helm.kept import may_differ
from chartkit.model import Body, Location
from chartkit.output import write
from chartkit.output.write import Tree
from chartkit.render.chart import ALL, Chart, CheckTarget
from chartkit.render.model import Outcome, Row
from chartkit.wording import abridged

_RECORD: Final = ".chartkit"
"""A file that `kubectl apply` of the folder leaves alone, as its name has no suffix."""


def manifests(folder: Path, subject: CheckTarget) -> Tree:
    """Return what each chart installs in an environment, CRDs first, as one file a chart.

    folder: for all environments. Raise RenderError.
    """
    own = folder / subject.environment.file_name
    files, record = dict[str, str](), dict[str, Body]()
    for chart in subject.charts:
        crds = [resource.body for resource in chart.rendered().crds]
        manifest = chart.manifest().rstrip("\n") + "\n"
        name = f"{chart.name}.yaml"
        files[name] = dump_documents(crds) + manifest
        record[name] = {"manifests": _digest(files[name]), "chart": _generated(chart)}
    files[_RECORD] = json.dumps(record, indent=2) + "\n"
    stale = (f"{name}.yaml" for name in NAMES)
    return Tree(own, files, frozenset(each for each in stale if each not in files))


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
        rows += [_row(tree, name) for name in sorted(edited)]
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
        known = parse_json(read_source(tree.folder / _RECORD))
    except (InputError, ValueError):
        return
    wanted = json.loads(tree.files[_RECORD])
    for name, own in wanted.items():
        file = tree.folder / name
        before = known.get(name) if isinstance(known, dict) else None
        if not isinstance(before, dict) or not file.is_file() or own == before:
            continue
        untouched = before.get("manifests") == _digest(read_source(file))
        if untouched and before.get("chart") == own["chart"]:
            yield name


def _row(tree: Tree, name: str) -> Row:
    message = "is older than the values, which were edited by hand since"
    location = Location(str(tree.folder / name))
    return Row(
        tree.folder.name, "files", Outcome.NOTE, message, location, "`chartkit render` updates it"
    )


def _generated(chart: Chart) -> str:
    """Return a digest of the chart without what people wrote into its values."""
    own = sorted(
        (name, text) for name, text in chart.files.tree.files.items() if write.is_record(name)
    )
    return _digest(json.dumps(own))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def is_repeatable(subjects: Sequence[CheckTarget]) -> bool:
    """Report whether the charts of environments, and their policies, give the same result again."""
    charts = [chart for target in subjects for chart in target.charts]
    policies = (text for target in subjects for text in target.policies.rendered().texts.values())
    return not may_differ(policies) and not any(may_differ(_evaluated(each)) for each in charts)


def _evaluated(chart: Chart) -> Iterator[str]:
    """Yield the texts of a chart that Helm evaluates: values, helpers, and templates that come to
    anything."""
    rendered = chart.rendered().texts
    for name, text in chart.files.tree.files.items():
        file = name.rpartition("/")[2]
        is_given = file.startswith("_") or (file.startswith("values") and file.endswith(".yaml"))
        if is_given or rendered.get(f"{chart.name}/{name}", "").strip():
            yield text
