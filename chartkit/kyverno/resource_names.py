"""From kinds to resources: what roles call what policies name by its kind.

Roles know groups and plural names; policies know kinds, often without a group. Kubernetes' own
kinds and Kyverno's are known here, others where their definitions are given. For the rest stands
Kubernetes' own guess (`meta.UnsafeGuessKindToResource`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from chartkit.model import Body, Json
from chartkit.schemas import crds

CORE: Final = ""
"""The name of Kubernetes' first group."""

_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        CORE: "Binding ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
        "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service "
        "ServiceAccount",
        "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
        "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
        "ValidatingWebhookConfiguration",
        "apiextensions.k8s.io": "CustomResourceDefinition",
        "apiregistration.k8s.io": "APIService",
        "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
        "authentication.k8s.io": "TokenReview",
        "authorization.k8s.io": "LocalSubjectAccessReview SelfSubjectAccessReview "
        "SubjectAccessReview",
        "autoscaling": "HorizontalPodAutoscaler",
        "batch": "CronJob Job",
        "certificates.k8s.io": "CertificateSigningRequest",
        "coordination.k8s.io": "Lease",
        "discovery.k8s.io": "EndpointSlice",
        "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
        "networking.k8s.io": "Ingress IngressClass IPAddress NetworkPolicy ServiceCIDR",
        "node.k8s.io": "RuntimeClass",
        "policy": "PodDisruptionBudget",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
        "resource.k8s.io": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
        "scheduling.k8s.io": "PriorityClass",
        "storage.k8s.io": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment "
        "VolumeAttributesClass",
    }
)
"""Kubernetes' kinds by their groups. Source: the API reference of Kubernetes 1.35; Event stands in
its first group, which is what policies mean."""

_MISGUESSED: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("gateway.networking.k8s.io", "Gateway"): "gateways",
        ("networking.istio.io", "Gateway"): "gateways",
    }
)
"""Kinds of others that policies often speak of, and whose plurals are not what Kubernetes would
guess. Source: their definitions."""


@dataclass(frozen=True, slots=True)
class ResourceName:
    """A resource as roles call it; guessed: the kind whose plural is a guess, empty where it is
    known."""

    group: str
    resource: str
    guessed: str = ""


@dataclass(frozen=True, slots=True)
class KnownKinds:
    """plurals: the resources by group and kind; groups: the groups of a kind."""

    plurals: Mapping[tuple[str, str], str]
    groups: Mapping[str, tuple[str, ...]]

    def find(self, group: str | None, kind: str) -> list[ResourceName]:
        """The resources of a kind; group None: in whatever group it is. Empty where the group is
        not said and not known."""
        groups = self.groups.get(kind, ()) if group is None else (group,)
        return [self._in_group(each, kind) for each in groups]

    def _in_group(self, group: str, kind: str) -> ResourceName:
        known = self.plurals.get((group, kind))
        if known is not None:
            return ResourceName(group, known)
        return ResourceName(group, guess_plural(kind), kind)


def guess_plural(kind: str) -> str:
    """The resource of a kind as Kubernetes guesses it; wrong for some, such as `Gateway`."""
    name = kind.lower()
    if name.endswith("endpoints"):
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def known_kinds(definitions: Iterable[Body] = ()) -> KnownKinds:
    """Kubernetes' kinds, Kyverno's, and those that custom resource definitions define."""
    own = _own_kinds()
    further = dict(_defined(definitions))
    if not further:
        return own
    return _indexed({**own.plurals, **further})


@cache
def _own_kinds() -> KnownKinds:
    plurals = {
        (group, kind): guess_plural(kind)
        for group, kinds in _KINDS.items()
        for kind in kinds.split()
    }
    plurals |= {(each.group, each.kind): each.plural for each in crds.kinds()}
    return _indexed({**_MISGUESSED, **plurals})


def _indexed(plurals: Mapping[tuple[str, str], str]) -> KnownKinds:
    groups: dict[str, tuple[str, ...]] = {}
    for group, kind in plurals:
        groups[kind] = (*groups.get(kind, ()), group)
    return KnownKinds(MappingProxyType(dict(plurals)), MappingProxyType(groups))


def _defined(definitions: Iterable[Body]) -> Iterable[tuple[tuple[str, str], str]]:
    """Return the kinds of custom resource definitions; one without a group, kind and plural has
    none."""
    for body in definitions:
        spec = _mapping(body.get("spec"))
        names = _mapping(spec.get("names"))
        group, kind, plural = spec.get("group"), names.get("kind"), names.get("plural")
        if isinstance(group, str) and isinstance(kind, str) and isinstance(plural, str):
            yield (group, kind), plural


def _mapping(value: Json) -> Body:
    return value if isinstance(value, dict) else {}
