"""The names of all objects of a cluster, to tell what a story left behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tools.migration_on_cluster.cluster import Cluster

_PASSING: Final = frozenset(
    ("Event", "Lease", "Endpoints", "EndpointSlice", "ControllerRevision", "PodMetrics")
)
"""Kinds whose objects come and go by themselves."""


def names(cluster: Cluster) -> frozenset[str]:
    """Return `kind namespace/name` of each object that an API server has."""
    return frozenset(_names(cluster))


def _names(cluster: Cluster) -> Iterator[str]:
    for base in _served(cluster):
        for resource in cluster.read(base).get("resources", ()):
            kind = resource["kind"]
            if "/" in resource["name"] or "list" not in resource["verbs"] or kind in _PASSING:
                continue
            for body in cluster.items(f"{base}/{resource['name']}"):
                metadata = body["metadata"]
                where = f"{metadata['namespace']}/" if "namespace" in metadata else ""
                yield f"{kind} {where}{metadata['name']}"


def _served(cluster: Cluster) -> Iterator[str]:
    """Yield the path of each API group in its preferred version."""
    yield "/api/v1"
    for group in cluster.read("/apis").get("groups", ()):
        yield f"/apis/{group['preferredVersion']['groupVersion']}"
