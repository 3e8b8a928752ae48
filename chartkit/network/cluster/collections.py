"""Resources of an API server that chartkit reads and writes by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Collection:
    """Objects of one resource: group (not the core's), version and plural."""

    group: str
    version: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of its objects, or of one. namespace: empty for those of all."""
        version = f"{self.group}/{self.version}" if self.group else self.version
        return object_path(version, self.plural, namespace, name)


def object_path(api_version: str, plural: str, namespace: str = "", name: str = "") -> str:
    """Return the path of an object of an API server, or of all of a resource for no name; whatever
    its names are, they lead nowhere else."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    place = f"/namespaces/{_segment(namespace)}" if namespace else ""
    return f"{root}{place}/{plural}" + (f"/{_segment(name)}" if name else "")


def _segment(name: str) -> str:
    # Clients take a segment of dots for a folder's.
    return quote(name, safe=":@", errors="replace") if name.strip(".") else "%2E" * len(name)


CRDS: Final = Collection("apiextensions.k8s.io", "v1", "customresourcedefinitions")
DEPLOYMENTS: Final = Collection("apps", "v1", "deployments")
VALIDATING: Final = Collection(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"
)
CLUSTER_ROLES: Final = Collection("rbac.authorization.k8s.io", "v1", "clusterroles")
MUTATING: Final = Collection("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations")
