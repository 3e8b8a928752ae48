"""Roles that kube-controller-manager writes once more while Helm removes a release.

Kyverno's controllers have roles that are put together from others. When Helm deletes those, the
aggregator writes the sum anew, and may do so after Helm has deleted the sum, too: what it writes
has no owner and no rules, and keeps Helm from installing again.
"""

from __future__ import annotations

from collections.abc import Iterable

from chartkit.kyverno.controllers import CONTROLLERS
from chartkit.model import Body
from chartkit.network.cluster.client import CLUSTER_ROLES, Cluster

_OWNER = "meta.helm.sh/release-name"


def names_of(release: str) -> list[str]:
    """Return the names of an engine's roles that are put together from others."""
    return [f"{release}:{component}" for component in CONTROLLERS]


def ownerless(cluster: Cluster, names: Iterable[str]) -> list[str]:
    """Return those of these cluster roles that no release owns and that allow nothing."""
    found = ((name, cluster.read(CLUSTER_ROLES, name)) for name in names)
    return [name for name, body in found if body is not None and _is_left(body)]


def remove_ownerless(cluster: Cluster, names: Iterable[str]) -> list[str]:
    """Delete roles without an owner; returns their names."""
    found = ownerless(cluster, names)
    for name in found:
        cluster.delete(CLUSTER_ROLES, name)
    return found


def _is_left(body: Body) -> bool:
    annotations = body["metadata"].get("annotations") or {}
    return _OWNER not in annotations and not body.get("rules")
