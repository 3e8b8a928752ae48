"""Makes the inputs of the scan benchmarks: Pods of the standard's fixtures, and a repository."""

from __future__ import annotations

import copy
import itertools
import random
import subprocess
from pathlib import Path
from typing import Any

from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import dump_documents

_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: app-{number}, namespace: team-{team}}}
spec:
  selector: {{matchLabels: {{app: app-{number}}}}}
  template:
    metadata: {{labels: {{app: app-{number}}}}}
    spec:
      containers:
      - name: main
        image: registry.example/app-{number}:1.{number}
        resources: {{limits: {{memory: {memory}Mi}}}}
        securityContext: {{allowPrivilegeEscalation: false}}
"""


def write_pods(
    fixtures: Path, target: Path, count: int = 10_000, are_distinct: bool = False
) -> None:
    """Writes count Pods to target, those below fixtures in turn, each under a name of its own;
    are_distinct: each with labels, images, variables and arguments of its own, too."""
    pods = distinct_pods(fixtures, count) if are_distinct else _numbered(fixtures, count)
    target.write_text(dump_documents(pods), "utf-8")


def distinct_pods(fixtures: Path, count: int) -> list[dict[str, Any]]:
    """Returns count Pods, those below fixtures in turn, no two alike."""
    pick = random.Random(1)
    return [_distinct(pod, pick) for pod in _numbered(fixtures, count)]


def _numbered(fixtures: Path, count: int) -> list[dict[str, Any]]:
    bodies = [
        document.body for file in sorted(fixtures.glob("*.yaml")) for document in read_file(file)
    ]
    return [
        {**body, "metadata": {**body["metadata"], "name": f"{body['metadata']['name']}-{number}"}}
        for number, body in enumerate(itertools.islice(itertools.cycle(bodies), count))
    ]


def _distinct(body: dict[str, Any], pick: random.Random) -> dict[str, Any]:
    """Return a Pod that differs from all others in what its containers run."""
    pod = copy.deepcopy(body)
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["labels"] = {"app": _word(pick), "team": _word(pick), "version": _word(pick)}
    for each in (*spec.get("initContainers", ()), *spec.get("containers", ())):
        each["image"] = f"registry.example/{_word(pick)}/{_word(pick)}:{pick.randrange(1000)}"
        each["env"] = [
            {"name": _word(pick).upper(), "value": _word(pick)} for _ in range(pick.randrange(1, 4))
        ]
        each["args"] = [f"--{_word(pick)}={_word(pick)}" for _ in range(pick.randrange(1, 4))]
    return pod


def _word(pick: random.Random) -> str:
    return "".join(pick.choices("abcdefghijklmnopqrstuvwxyz", k=pick.randrange(4, 10)))


def write_repository(folder: Path, count: int = 500, changed: int = 3) -> None:
    """Writes a git repository of manifests, of which some are not those of its one commit."""
    for number in range(count):
        _write(folder, number, 64)
    user = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "all")):
        subprocess.run(["git", *user, *command], cwd=folder, check=True)
    for number in range(changed):
        _write(folder, number, 128)


def _write(folder: Path, number: int, memory: int) -> None:
    text = _DEPLOYMENT.format(number=number, team=number % 20, memory=memory)
    (folder / f"app-{number}.yaml").write_text(text, "utf-8")
