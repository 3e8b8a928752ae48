"""Makes the input of the scan benchmark: Pods of the standard's own fixtures, cycled."""

from __future__ import annotations

import itertools
from pathlib import Path

from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import dump_documents


def write_pods(fixtures: Path, target: Path, count: int = 10_000) -> None:
    """Writes count Pods to target, those below fixtures in turn, each under a name of its own."""
    bodies = [
        document.body for file in sorted(fixtures.glob("*.yaml")) for document in read_file(file)
    ]
    pods = []
    for number, body in enumerate(itertools.islice(itertools.cycle(bodies), count)):
        metadata = {**body["metadata"], "name": f"{body['metadata']['name']}-{number}"}
        pods.append({**body, "metadata": metadata})
    target.write_text(dump_documents(pods), "utf-8")
