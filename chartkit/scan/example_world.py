"""The cluster around a policy's examples: the objects in `cluster.yaml` next to them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file, resources
from chartkit.engine import OFFLINE, World, as_submitted
from chartkit.engine.cli_files import partial_api
from chartkit.model import Resource

CLUSTER_FILE: Final = "cluster.yaml"


def example_world(example: Resource) -> World:
    """Return the world for evaluating an example; raise InputError for an invalid file."""
    return _read(Path(example.location.file).parent / CLUSTER_FILE)


@lru_cache(maxsize=256)
def _read(file: Path) -> World:
    if not file.is_file():
        return OFFLINE
    bodies = [as_submitted(one).body for one in resources(read_file(file))]
    return World(api=partial_api(bodies))
