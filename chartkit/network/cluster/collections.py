"""Resources of an API server that chartkit reads and writes by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Collection:
    """Objects of one resource: group (not the core's), version and plural."""

    group: str
    version: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}"


CRDS: Final = Collection("apiextensions.k8s.io", "v1", "customresourcedefinitions")
DEPLOYMENTS: Final = Collection("apps", "v1", "deployments")
VALIDATING: Final = Collection(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"
)
CLUSTER_ROLES: Final = Collection("rbac.authorization.k8s.io", "v1", "clusterroles")
MUTATING: Final = Collection("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations")
