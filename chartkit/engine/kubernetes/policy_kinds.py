"""The kinds of policies in CEL, and of the bindings of Kubernetes' own."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from chartkit.engine.kubernetes.kinds import ADMISSION_GROUP, CEL_GROUP, group_of
from chartkit.model import Resource


class CelKind(StrEnum):
    """The kinds, without the prefix of their namespaced forms."""

    VALIDATING = "ValidatingPolicy"
    MUTATING = "MutatingPolicy"
    GENERATING = "GeneratingPolicy"
    DELETING = "DeletingPolicy"
    IMAGE_VALIDATING = "ImageValidatingPolicy"
    VALIDATING_ADMISSION = "ValidatingAdmissionPolicy"
    MUTATING_ADMISSION = "MutatingAdmissionPolicy"


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
    """Return whether an object is of a kind and group that `read_cel_policy` reads."""
    kinds = {CEL_GROUP: KINDS, ADMISSION_GROUP: ADMISSION}.get(group_of(resource))
    return kinds is not None and resource.kind in kinds


BINDINGS: Final = tuple(f"{kind}Binding" for kind in ADMISSION)


def is_binding(resource: Resource) -> bool:
    """Return whether an object is a binding of an admission policy."""
    group = resource.api_version.partition("/")[0]
    return group == "admissionregistration.k8s.io" and resource.kind in BINDINGS


UNEVALUATED_MODES: Final = frozenset({"Envoy", "HTTP"})
"""The modes of policies that no controller of Kyverno evaluates."""
