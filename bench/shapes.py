"""`python -m bench.shapes`: a scan of inputs of four shapes, in one process and in two.

The Pods of the standard's fixtures again and again, Deployments that all differ, the manifests of
real projects under the policies of the public library, and one chart. Ratios are of processor time
to that of libyaml alone, which reads the same objects in one process.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.__main__ import apart
from bench.measure import BIN, ROOT, measure
from bench.pods import write_pods
from bench.serve import FIXTURES, say
from chartkit.documents.yaml_dump import dump_documents
from chartkit.helm.render import render_chart

_SHARED: Final = ROOT.parent / "shared"
_REAL: Final = _SHARED / "real"
_LIBRARY: Final = _SHARED / "conformance" / "policy-library"
_CHART: Final = ROOT / "charts" / "kyverno"
_JOBS: Final = (1, 2)
_PROFILE: Final = "pss-restricted"


@dataclass(frozen=True, slots=True)
class Shape:
    """name: as the table has it; paths: what is scanned; policies: as `-p` takes them; objects: one
    file with the same objects."""

    name: str
    paths: tuple[Path, ...]
    policies: str | Path
    objects: Path


def main() -> None:
    """Measure each shape, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="of Pods and of Deployments")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    say("| input | processes | elapsed | processors | × libyaml |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for shape in _shapes(Path(folder), given.count):
            _measure(shape, given.runs)


def _measure(shape: Shape, runs: int) -> None:
    read: list[str | Path] = [sys.executable, "-m", "bench.read_only", shape.objects, "--libyaml"]
    libyaml = measure("libyaml", read, runs)
    say(f"| {shape.name}: libyaml | 1 | {libyaml.median:.2f} s | {libyaml.work:.2f} s | |")
    for jobs in _JOBS:
        scan: list[str | Path] = [BIN / "chartkit", "scan", *shape.paths]
        scan += ["-p", shape.policies, "--jobs", str(jobs)]
        found = measure(shape.name, scan, runs)
        ratio = found.work / libyaml.work
        times = f"{found.median:.2f} s | {found.work:.2f} s | {ratio:.2f}"
        say(f"| {shape.name} | {jobs} | {times} |")


def _shapes(folder: Path, count: int) -> Iterator[Shape]:
    if FIXTURES.is_dir():
        pods = folder / "pods.yaml"
        apart(write_pods, FIXTURES, pods, count)
        yield Shape(f"{count:,} Pods of the fixtures, repeated", (pods,), _PROFILE, pods)
    else:
        say(f"skipped: the fixtures are not here ({FIXTURES.name})")
    deployments = folder / "deployments.yaml"
    apart(write_deployments, deployments, count)
    name = f"{count:,} Deployments that all differ"
    yield Shape(name, (deployments,), _PROFILE, deployments)
    if _REAL.is_dir() and _LIBRARY.is_dir():
        files = tuple(sorted(_REAL.glob("*.yaml")))
        joined = folder / "real.yaml"
        joined.write_text("\n---\n".join(file.read_text("utf-8") for file in files), "utf-8")
        yield Shape("real manifests × 361 policies", files, _LIBRARY, joined)
    else:
        say(f"skipped: {_REAL.name} or {_LIBRARY.name} is not here")
    rendered = folder / "rendered.yaml"
    apart(write_rendered, rendered)
    yield Shape("one chart, with Helm", (_CHART,), _PROFILE, rendered)


def write_deployments(target: Path, count: int) -> None:
    """Write Deployments of which no two are alike, also not in what the policies read."""
    pick = random.Random(1)
    target.write_text(dump_documents([_deployment(pick, at) for at in range(count)]), "utf-8")


def _deployment(pick: random.Random, number: int) -> dict[str, Any]:
    name = f"app-{number}"
    containers = [_container(pick, f"{name}-{at}") for at in range(pick.randint(1, 4))]
    context = {"runAsUser": 1_000 + number, "fsGroup": pick.randint(1, 60_000)}
    pod = {"containers": containers, "securityContext": context, "hostPID": pick.random() < 0.1}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": pick.randint(1, 9), "selector": {"matchLabels": labels}}
    metadata = {"name": name, "namespace": f"team-{number % 50}", "labels": labels}
    whole = {"metadata": metadata, "spec": {**spec, "template": template}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", **whole}


def _container(pick: random.Random, name: str) -> dict[str, Any]:
    resources = {"memory": f"{pick.randint(16, 4_096)}Mi", "cpu": f"{pick.randint(10, 4_000)}m"}
    context = {
        "allowPrivilegeEscalation": pick.random() < 0.5,
        "capabilities": {"drop": ["ALL"], "add": [f"CAP_{pick.randint(1, 500)}"]},
        "runAsNonRoot": pick.random() < 0.8,
    }
    return {
        "name": name,
        "image": f"registry.example/{name}:1.{pick.randint(0, 99)}",
        "env": [{"name": f"KEY_{at}", "value": str(pick.random())} for at in range(4)],
        "ports": [{"containerPort": pick.randint(1, 65_535)}],
        "resources": {"limits": resources, "requests": resources},
        "securityContext": context,
    }


def write_rendered(target: Path) -> None:
    """Write what the chart renders to."""
    rendered = render_chart(_CHART, [], namespace="kyverno")
    target.write_text(dump_documents([each.body for each in rendered.resources]), "utf-8")


if __name__ == "__main__":
    main()
