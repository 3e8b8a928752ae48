"""The policies' chart reduced to some of its policies, for Helm to render faster.

An example with parameter values of its own needs a render of its own. The whole chart would render
every policy and check the whole schema for it.
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
"""Templates that go through all policies of the chart."""


def part_of(chart: Chart, policies: Collection[LibraryPolicy]) -> Path:
    """Return a folder with the chart as it is laid out, without other policies' templates and
    templates about all policies; its schema has only the parameters of the policies. The rest was
    checked where the whole chart was rendered with the environment's values.

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
    """Return whether a file is a policy's template, which is in the folder of a group."""
    return name.startswith("templates/") and name.count("/") > 1
