"""The files of a new project."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chartkit import bundled
from chartkit.charts.engine.monitoring import API
from chartkit.documents.reader import read_file
from chartkit.errors import InputError, system_errors
from chartkit.kyverno import releases
from chartkit.kyverno.versions import Version
from chartkit.library.policies import read_library
from chartkit.library.profiles import project_schema, read_profile, resolve
from chartkit.library.templating import render_tree
from chartkit.model import Location
from chartkit.output import atomic_folder
from chartkit.project.environment import DEFAULT_ACTIONS
from chartkit.project.monitoring import Mode, first_monitoring
from chartkit.project.project import FILE_NAME, SCHEMA
from chartkit.project.settings import Action

_WHY = {
    Action.ENFORCE: "A violation is refused: developers see it at once.",
    Action.AUDIT: "A violation is reported; promote single policies to Enforce below.",
}
_AVAILABLE = frozenset({"prd"})
_NEEDS = Path(__file__).with_name("needs.yaml")
_OF_AMAZON = "require-target-type-ip"
"""The policies that imply Amazon's load balancers, whatever the cluster is called."""


def project_files(
    profiles: Sequence[str], cluster: Version, eks: bool, monitoring: Mode | None = None
) -> Mapping[str, str]:
    """A new project's files by path: chartkit.yaml, its schema for editors, a first workload.
    monitoring: how its environments are monitored, None where they are not. Raises InputError for a
    profile that there is not."""
    library = read_library([bundled.library_dir()])
    resolved = resolve([read_profile(profile, Path()) for profile in profiles], library)
    enabled = {name for name, policy in resolved.policies.items() if policy.enabled}
    needs = [{"exclude": ["namespaces: [kyverno]"], **row} for row in read_file(_NEEDS)[0].body]
    needs = [need for need in needs if need["policy"] in enabled]
    needs = [need for need in needs if need.get("monitoring") in (None, monitoring)]
    general = [need for need in needs if "notHighlyAvailable" not in need]
    amazon = eks or _OF_AMAZON in enabled
    context: dict[str, Any] = {
        "schema": SCHEMA,
        "profiles": profiles,
        "kyverno": str(releases.current().version),
        "cluster": "eks" if eks else "kubernetes",
        "version": str(cluster),
        "monitoring": first_monitoring(monitoring, amazon) if monitoring else None,
        "api": API,
        "needs": general,
        "environments": [
            {
                "name": name,
                "action": str(action),
                "why": _WHY[action],
                "available": name in _AVAILABLE,
                "needs": [need for need in needs if need not in general and name not in _AVAILABLE],
                "example": name in _AVAILABLE,
            }
            for name, action in DEFAULT_ACTIONS.items()
        ],
    }
    files = render_tree(bundled.chart_source_dir("project"), context)
    return {**files, f".chartkit/{SCHEMA}": schema_text()}


def schema_text() -> str:
    """Return the schema of chartkit.yaml for editors, with the names of the built-in policies."""
    policies = read_library([bundled.library_dir()]).policies.values()
    return json.dumps(project_schema(policies), indent=1, ensure_ascii=False) + "\n"


def write_project(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write a new project's files, chartkit.yaml last; raises InputError, and writes nothing, where
    one of them exists already."""
    there = [folder / name for name in files if (folder / name).exists()]
    if there:
        hint = f"{FILE_NAME} is edited by hand; start a new project in another folder"
        raise InputError("is there already, and is not overwritten", Location(str(there[0])), hint)
    written = []
    for name in sorted(files, key=lambda name: (name == FILE_NAME, name)):
        file = folder / name
        atomic_folder.require_inside(file, folder)
        with system_errors("cannot be written", file):
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8", newline="\n") as out:
                out.write(files[name])
        written.append(file)
    return written
