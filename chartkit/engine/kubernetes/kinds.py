"""Kubernetes' own kinds: which are cluster-scoped, and the names of their resources.

The tables follow the API reference of Kubernetes 1.35 and the resources that Kyverno itself adds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from chartkit.model import Body, Resource

DEFAULT_NAMESPACE: Final = "default"
KYVERNO_GROUP: Final = "kyverno.io"
CLEANUP_KINDS: Final = ("ClusterCleanupPolicy", "CleanupPolicy")
CEL_GROUP: Final = "policies.kyverno.io"
"""The group of Kyverno's policies in CEL."""
ADMISSION_GROUP: Final = "admissionregistration.k8s.io"
CRD_GROUP: Final = "apiextensions.k8s.io"


class GroupVersionKind(NamedTuple):
    """The kind of an object; group is empty for Kubernetes' core."""

    group: str
    version: str
    kind: str


def parse_api_version(api_version: str) -> tuple[str, str]:
    """`apps/v1` → (`apps`, `v1`), `v1` → (``, `v1`)."""
    group, slash, version = api_version.partition("/")
    return (group, version) if slash else ("", group)


def group_of(resource: Resource) -> str:
    """Return the API group of an object; of the core's its version."""
    return resource.api_version.partition("/")[0]


def kind_of(resource: Resource) -> GroupVersionKind:
    """An object's group, version and kind."""
    return _kind(resource.api_version, resource.kind)


@lru_cache
def _kind(api_version: str, kind: str) -> GroupVersionKind:
    return GroupVersionKind(*parse_api_version(api_version), kind)


_TABLE: Final = json.loads(Path(__file__).with_name("scopes.json").read_text("utf-8"))
_CLUSTER_SCOPED: Final[dict[str, list[str]]] = _TABLE["clusterScoped"]
_ONLY_NAMESPACED: Final = frozenset(_TABLE["onlyNamespaced"])
"""Kubernetes' own groups without a cluster-scoped kind."""
_IRREGULAR: Final[dict[str, str]] = _TABLE["irregularPlurals"]

CLUSTER_SCOPED: Final = frozenset(
    (group, kind) for group, kinds in _CLUSTER_SCOPED.items() for kind in kinds
)
"""The group and kind of cluster-scoped objects."""


@dataclass(frozen=True, slots=True)
class CustomNames:
    """Facts of custom kinds by their definitions. namespaced: whether the objects of a group and
    kind are in namespaces; plurals: the names of their resources."""

    namespaced: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    plurals: Mapping[GroupVersionKind, str] = field(default_factory=dict)

    def joined(self, other: CustomNames) -> CustomNames:
        """Return the facts of both; the other's come first."""
        namespaced = {**self.namespaced, **other.namespaced}
        return CustomNames(namespaced, {**self.plurals, **other.plurals})

    def plural(self, kind: GroupVersionKind) -> str:
        """Return the name of a kind in URLs, guessed without a definition."""
        return self.plurals.get(kind) or resource_name(kind.kind)


UNKNOWN: Final = CustomNames()
"""No definition is known."""


def is_cluster_scoped(kind: GroupVersionKind, custom: CustomNames = UNKNOWN) -> bool:
    """Report whether objects of this kind are outside namespaces; custom kinds without a definition
    count as inside."""
    name = (kind.group, kind.kind)
    return name in CLUSTER_SCOPED or not custom.namespaced.get(name, True)


def scope_of(names: CustomNames) -> Callable[[str], bool | None]:
    """Return a function that reports whether a kind, written `v1/Namespace`, `group/version/Kind`
    or `Kind`, is cluster-scoped; None for a custom kind without a definition."""

    def is_outside(selector: str) -> bool | None:
        api_version, slash, kind = selector.rpartition("/")
        if not slash:
            named = [inside for (_, name), inside in names.namespaced.items() if name == kind]
            return False in named or any(kind == scoped for _, scoped in CLUSTER_SCOPED)
        group = parse_api_version(api_version)[0]
        if (group, kind) in CLUSTER_SCOPED:
            return True
        if (group, kind) in names.namespaced:
            return not names.namespaced[group, kind]
        return False if is_own_group(group) else None

    return is_outside


def is_own_group(group: str) -> bool:
    """Report whether the kinds of a group are Kubernetes' own, or Kyverno's."""
    return "." not in group or group in _CLUSTER_SCOPED or group in _ONLY_NAMESPACED


def is_custom(kind: GroupVersionKind) -> bool:
    """Report whether a kind is not one of Kubernetes' own: it belongs to another domain."""
    return "." in kind.group and not kind.group.endswith(".k8s.io")


def resource_name(kind: str) -> str:
    """The name of a kind in URLs: lower case and plural, as `kubectl` guesses it."""
    if kind in _IRREGULAR:
        return _IRREGULAR[kind]
    name = kind.lower()
    if name.endswith(("s", "x", "ch", "sh")):
        return f"{name}es"
    if name.endswith("y") and name[-2:-1] not in tuple("aeiou"):
        return f"{name[:-1]}ies"
    return f"{name}s"


def in_namespace(
    resource: Resource, namespace: str = DEFAULT_NAMESPACE, custom: CustomNames = UNKNOWN
) -> Resource:
    """Return the object in a namespace, if its kind is namespaced and it has no namespace itself.
    An object of a custom kind that is known to be cluster-scoped loses its namespace, as in an API
    server."""
    kind = kind_of(resource)
    is_outside = not custom.namespaced.get((kind.group, kind.kind), True)
    if bool(resource.namespace) != is_outside or is_cluster_scoped(kind):
        return resource
    metadata = resource.body.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return resource
    body: Body = dict(resource.body)
    body["metadata"] = {**(metadata or {}), "namespace": namespace}
    if is_outside:
        del body["metadata"]["namespace"]
    return Resource(body, resource.location)


TEMPLATE: Final = "spec.template"
CRON_TEMPLATE: Final = "spec.jobTemplate.spec.template"
CRON_JOB: Final = "CronJob"


class Controller(NamedTuple):
    """A kind that makes Pods; template: the path of its Pod template."""

    group: str
    version: str
    kind: str
    plural: str
    template: str = TEMPLATE


CONTROLLERS: Final = (
    Controller("apps", "v1", "DaemonSet", "daemonsets"),
    Controller("apps", "v1", "Deployment", "deployments"),
    Controller("batch", "v1", "Job", "jobs"),
    Controller("apps", "v1", "StatefulSet", "statefulsets"),
    Controller("apps", "v1", "ReplicaSet", "replicasets"),
    Controller("", "v1", "ReplicationController", "replicationcontrollers"),
    Controller("batch", "v1", CRON_JOB, "cronjobs", CRON_TEMPLATE),
)
POD_SPECS: Final = {controller.kind: f"{controller.template}.spec" for controller in CONTROLLERS}
"""The path of the Pod's specification in each controller."""


class CelKind(StrEnum):
    """The kinds, without the prefix of their namespaced forms."""

    VALIDATING = "ValidatingPolicy"
    MUTATING = "MutatingPolicy"
    GENERATING = "GeneratingPolicy"
    DELETING = "DeletingPolicy"
    IMAGE_VALIDATING = "ImageValidatingPolicy"
    VALIDATING_ADMISSION = "ValidatingAdmissionPolicy"
    MUTATING_ADMISSION = "MutatingAdmissionPolicy"


CEL_ENVIRONMENTS: Final[Mapping[str, str]] = {
    CelKind.VALIDATING: "vpol",
    CelKind.MUTATING: "mpol",
    CelKind.GENERATING: "gpol",
    CelKind.DELETING: "dpol",
    CelKind.IMAGE_VALIDATING: "ivpol",
    CelKind.VALIDATING_ADMISSION: "vap",
    CelKind.MUTATING_ADMISSION: "map",
}
"""The names of the kinds' environments (`cel.ENVIRONMENTS`); Kyverno's namespaced kinds have an n
before it."""
KYVERNO_KINDS: Final = (
    CelKind.VALIDATING,
    CelKind.MUTATING,
    CelKind.GENERATING,
    CelKind.DELETING,
    CelKind.IMAGE_VALIDATING,
)
ADMISSION_KINDS: Final = (CelKind.VALIDATING_ADMISSION, CelKind.MUTATING_ADMISSION)
NAMESPACED: Final = "Namespaced"
"""The prefix of the kinds of policies that live in a namespace."""


VERSIONS: Final = (
    "policies.kyverno.io/v1",
    "policies.kyverno.io/v1beta1",
    "policies.kyverno.io/v1alpha1",
)
ADMISSION_VERSIONS: Final = (
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1beta1",
    "admissionregistration.k8s.io/v1alpha1",
)
KINDS: Final = {name: kind for kind in KYVERNO_KINDS for name in (str(kind), f"{NAMESPACED}{kind}")}
"""The kinds of policies.kyverno.io, with those that live in a namespace."""
ADMISSION: Final = {str(kind): kind for kind in ADMISSION_KINDS}


def is_cel_policy(resource: Resource) -> bool:
    """Report whether an object is of a kind and group that `read_cel_policy` reads."""
    kinds = {CEL_GROUP: KINDS, ADMISSION_GROUP: ADMISSION}.get(group_of(resource))
    return kinds is not None and resource.kind in kinds


BINDINGS: Final = tuple(f"{kind}Binding" for kind in ADMISSION)


def is_binding(resource: Resource) -> bool:
    """Report whether an object is a binding of an admission policy."""
    group = resource.api_version.partition("/")[0]
    return group == "admissionregistration.k8s.io" and resource.kind in BINDINGS


UNEVALUATED_MODES: Final = frozenset({"Envoy", "HTTP"})
"""The modes of policies that no controller of Kyverno evaluates."""
