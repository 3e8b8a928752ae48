"""The files of a new project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chartkit import bundled
from chartkit.charts.engine.monitoring import API
from chartkit.errors import InputError
from chartkit.kyverno import releases
from chartkit.kyverno.versions import Version
from chartkit.library.policies import read_library
from chartkit.library.profiles import read_profile, resolve
from chartkit.library.templating import render_tree
from chartkit.model import Location
from chartkit.output import atomic_folder
from chartkit.project.monitoring import Mode, first_monitoring
from chartkit.project.project import DEFAULT_ACTIONS, FILE_NAME, SCHEMA, Action
from chartkit.schemas import json_schema

_WHY = {
    Action.ENFORCE: "A violation is refused: developers see it at once.",
    Action.AUDIT: "A violation is reported; promote single policies to Enforce below.",
}
_AVAILABLE = frozenset({"prd"})
_OF_AMAZON = "require-target-type-ip"
"""The policies that imply Amazon's load balancers, whatever the cluster is called."""


@dataclass(frozen=True, slots=True)
class Need:
    """A setting of a policy that Kyverno's own objects need.

    available: whether a highly available engine needs it too; exclude: what the policy leaves
    alone, in lines of YAML, none for a policy that is to report only; mode: the one way of
    monitoring that needs it, None where it does not depend on that.
    """

    policy: str
    reason: str
    available: bool = True
    exclude: tuple[str, ...] = ("namespaces: [kyverno]",)
    mode: Mode | None = None


NEEDS = (
    Need("restrict-automount-sa-token", "Kyverno talks to the API server with its token"),
    Need(
        "require-pod-probes",
        "two of Kyverno's controllers answer no requests and have no probes",
    ),
    Need("restrict-image-registries", "Kyverno's images come from reg.kyverno.io and ghcr.io"),
    Need(
        "require-memory-request-equals-limit",
        "what Kyverno needs depends on the cluster, and its limits leave room",
    ),
    Need("disallow-service-links", "Kyverno's chart does not set it"),
    Need("limit-revision-history", "Kyverno's chart keeps ten revisions"),
    Need(
        "require-image-digest",
        "the images of Kyverno's chart and of the first workload are named by their tags",
        exclude=("namespaces: [kyverno, hello]",),
    ),
    Need(
        "require-priority-class",
        "Kyverno's pods and the first workload name none, for the classes are yours",
        exclude=("namespaces: [kyverno, hello]",),
    ),
    Need(
        "deployment-has-multiple-replicas",
        "one replica is enough without high availability",
        available=False,
    ),
    Need(
        "require-encryption-aws-loadbalancers",
        "the controllers serve their metrics without TLS",
        exclude=("namespaces: [kyverno]", 'names: ["kyverno-*-metrics"]'),
        mode=Mode.LOAD_BALANCER,
    ),
    Need(
        "require-aws-node-identity",
        "Kyverno is not asked about kube-system by default, and its background scans report this",
        exclude=(),
    ),
)
"""The settings for policies that refuse the charts' defaults, with the reasons."""


def project_files(
    profiles: Sequence[str], cluster: Version, eks: bool, monitoring: Mode | None = None
) -> Mapping[str, str]:
    """A new project's files by path: chartkit.yaml, its schema for editors, a first workload.

    monitoring: how its environments are monitored, None where they are not. Raises InputError for
    a profile that there is not.
    """
    enabled = _enabled(profiles)
    needs = [each for each in NEEDS if each.policy in enabled and each.mode in (None, monitoring)]
    amazon = eks or _OF_AMAZON in enabled
    context: dict[str, Any] = {
        "schema": SCHEMA,
        "profiles": profiles,
        "kyverno": str(releases.current().version),
        "cluster": "eks" if eks else "kubernetes",
        "version": str(cluster),
        "monitoring": first_monitoring(monitoring, amazon) if monitoring else None,
        "api": API,
        "needs": [need for need in needs if need.available],
        "environments": [
            {
                "name": name,
                "action": str(action),
                "why": _WHY[action],
                "available": name in _AVAILABLE,
                "needs": [need for need in needs if not need.available and name not in _AVAILABLE],
                "example": name in _AVAILABLE,
            }
            for name, action in DEFAULT_ACTIONS.items()
        ],
    }
    files = render_tree(bundled.chart_source_dir("project"), context)
    return {**files, f".chartkit/{SCHEMA}": json_schema.text(SCHEMA)}


def write_project(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Writes a new project's files, chartkit.yaml last; raises InputError, and writes nothing,
    where one of them is there already."""
    there = [folder / name for name in files if (folder / name).exists()]
    if there:
        hint = f"{FILE_NAME} is edited by hand; start a new project in another folder"
        raise InputError("is there already, and is not overwritten", Location(str(there[0])), hint)
    written = []
    for name in sorted(files, key=lambda name: (name == FILE_NAME, name)):
        file = folder / name
        atomic_folder.require_inside(file, folder)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8", newline="\n") as out:
                out.write(files[name])
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"cannot be written: {reason}", Location(str(file))) from None
        written.append(file)
    return written


def _enabled(profiles: Iterable[str]) -> set[str]:
    library = read_library([bundled.library_dir()])
    resolved = resolve([read_profile(profile, Path()) for profile in profiles], library)
    return {name for name, each in resolved.policies.items() if each.enabled}
