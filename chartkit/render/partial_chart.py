"""The policies' chart with some of its policies alone, for Helm to work on what is asked about.

An example at parameter values of its own takes a render of its own. Of the whole chart that would
be all policies, and all of the schema, for the sake of a few.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from chartkit.charts.policies.chart import template_file
from chartkit.charts.policies.values_schema import SCHEMA_FILE, parameters_alone
from chartkit.library.policy import LibraryPolicy
from chartkit.render.chart import Chart

_PARTS: Final = "parts"
_ABOUT_ALL: Final = ("templates/NOTES.txt", "templates/permissions.yaml")
"""What walks over all policies of the chart, also over those that are off."""


def part_of(chart: Chart, policies: Collection[LibraryPolicy]) -> Path:
    """A folder with the chart as it is laid out, other policies' templates and what speaks of all
    of them left out; its schema speaks of the policies' parameters alone. What stands there was
    checked where the whole chart was rendered with an environment's values.

    The same policies give one and the same folder. Its files are the chart's own: not to be
    changed.
    """
    names = sorted(policy.name for policy in policies)
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()
    target = chart.files.folder.parent / _PARTS / digest / chart.files.folder.name
    if not target.is_dir():
        target.mkdir(parents=True)
        for name in _wanted(chart, {template_file(policy) for policy in policies}):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(chart.files.folder / name, target / name, follow_symlinks=False)
        schema = parameters_alone(chart.files.schema() or {}, names)
        (target / SCHEMA_FILE).write_text(json.dumps(schema), "utf-8")
    return target


def _wanted(chart: Chart, templates: Collection[str]) -> Iterator[str]:
    others = {name for name in chart.files.tree.files if _is_policy(name)}.difference(templates)
    left_out = {SCHEMA_FILE, *_ABOUT_ALL, *others}
    for path in chart.files.folder.rglob("*"):
        name = path.relative_to(chart.files.folder).as_posix()
        if name not in left_out and (path.is_symlink() or not path.is_dir()):
            yield name


def _is_policy(name: str) -> bool:
    """Whether a file of chartkit's is a policy's template: those stand in a folder each group."""
    return name.startswith("templates/") and name.count("/") > 1
