"""Kinds and fields of policies.kyverno.io by Kyverno version, and the API version of each kind.

Source: the definitions of the group in each release from 1.14.0 to 1.19.0, compared with the one
before. Written is the API version that holds most of the kind: 1.16 serves v1beta1 too, but its
MutatingPolicy there has other fields than every other version's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from chartkit.kyverno import cel_policy_fields
from chartkit.kyverno.cluster_policy_fields import Field, Use, rows, uses
from chartkit.kyverno.versions import Version
from chartkit.model import Body, Json, mapping_at, mappings_at

GROUP = "policies.kyverno.io"
NAMESPACED = "Namespaced"


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """From which Kyverno version on a kind is written in which API version."""

    since: Version
    version: str


def _served(*pairs: tuple[int, str]) -> tuple[ServedVersion, ...]:
    return tuple(ServedVersion(Version(1, minor), version) for minor, version in pairs)


KINDS: Mapping[str, tuple[ServedVersion, ...]] = MappingProxyType(
    {
        "ValidatingPolicy": _served((14, "v1alpha1"), (17, "v1")),
        "ImageValidatingPolicy": _served((14, "v1alpha1"), (17, "v1")),
        "MutatingPolicy": _served((15, "v1alpha1"), (17, "v1")),
        "GeneratingPolicy": _served((15, "v1alpha1"), (17, "v1")),
        "DeletingPolicy": _served((15, "v1alpha1"), (17, "v1")),
        "NamespacedValidatingPolicy": _served((16, "v1beta1"), (17, "v1")),
        "NamespacedImageValidatingPolicy": _served((16, "v1beta1"), (17, "v1")),
        "NamespacedDeletingPolicy": _served((16, "v1beta1"), (17, "v1")),
        "NamespacedMutatingPolicy": _served((17, "v1")),
        "NamespacedGeneratingPolicy": _served((17, "v1")),
    }
)
"""The kinds, those of a namespace among them; the newest version stands last."""


def _field(path: str, minor: int, default: Json = None, without: Json = None) -> Field:
    return Field(tuple(path.replace("[]", ".*").split(".")), Version(1, minor), default, without)


_COSIGN = "attestors[].cosign."
_ANNOTATED = "auditAnnotations"
FIELDS: Mapping[str, tuple[Field, ...]] = MappingProxyType(
    {
        "ValidatingPolicy": (),
        "DeletingPolicy": (),
        "ImageValidatingPolicy": (
            _field(_ANNOTATED, 15),
            _field(_COSIGN + "trustedRoot", 19),
            _field(_COSIGN + "keyless.additionalExtensions", 19),
            _field(_COSIGN + "keyless.identities[].subjectExpression", 19),
        ),
        "MutatingPolicy": (
            _field("evaluation.background", 17),
            _field("evaluation.mode", 17),
            _field("targetMatchConstraints.expression", 17),
            _field(_ANNOTATED, 19),
            _field("targetMatchConditions", 19),
            _field("evaluation.skipBackgroundRequests", 19, without=True),
            _field("evaluation.useServerSideApply", 19, without=False),
        ),
        "GeneratingPolicy": (
            _field(_ANNOTATED, 19),
            _field("generate[].template", 19),
            _field("useServerSideApply", 19, without=False),
            _field("evaluation.skipBackgroundRequests", 19, without=True),
        ),
    }
)
"""Fields below spec that are younger than their kind; ValidatingPolicy has had all of its own
since 1.14."""

SETTINGS: Mapping[str, Mapping[str, Version]] = MappingProxyType(
    {
        "ValidatingPolicy": {
            "action": Version(1, 14),
            "autogen": Version(1, 14),
            "background": Version(1, 14),
            "failurePolicy": Version(1, 14),
            "matchConditions": Version(1, 14),
            "auditAnnotations": Version(1, 14),
        },
        "ImageValidatingPolicy": {
            "action": Version(1, 14),
            "autogen": Version(1, 14),
            "background": Version(1, 14),
            "failurePolicy": Version(1, 14),
            "matchConditions": Version(1, 14),
            "auditAnnotations": Version(1, 15),
        },
        "MutatingPolicy": {
            "autogen": Version(1, 15),
            "background": Version(1, 17),
            "failurePolicy": Version(1, 15),
            "matchConditions": Version(1, 15),
            "auditAnnotations": Version(1, 19),
            "skipBackgroundRequests": Version(1, 19),
        },
        "GeneratingPolicy": {
            "matchConditions": Version(1, 15),
            "auditAnnotations": Version(1, 19),
            "skipBackgroundRequests": Version(1, 19),
        },
        "DeletingPolicy": {},
    }
)
"""Settings of each kind in the chart's values, and the first Kyverno that has each."""


def minimum_version(policy: Body) -> tuple[Version, Use | None]:
    """The oldest Kyverno that serves a policy's kind with every field that it has, and the field
    that says so (None: the kind itself). policy: of one of KINDS."""
    kind = str(policy["kind"])
    newest, reason = KINDS[kind][0].since, None
    for use in uses(policy, FIELDS[kind.removeprefix(NAMESPACED)]):
        if use.field.since > newest:
            newest, reason = use.field.since, use
    return newest, reason


def as_json() -> Body:
    """The tables for the chart's templates; versions are numbers that order (1016 for 1.16)."""
    return {
        "kinds": {
            kind: [{"since": each.since.number, "version": each.version} for each in served]
            for kind, served in KINDS.items()
        },
        "fields": {kind: rows(fields) for kind, fields in FIELDS.items()},
        "settings": {
            kind: {key: since.number for key, since in settings.items()}
            for kind, settings in SETTINGS.items()
        },
    }


_PODS: Final = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def extends_to_controllers(body: Body) -> bool:
    """Return whether a policy matches Pods only, so that it is extended to their controllers.

    Source: Kyverno's `CanAutoGen` of CEL policies.
    """
    kind = str(body["kind"]).removeprefix(cel_policy_fields.NAMESPACED)
    if "autogen" not in cel_policy_fields.SETTINGS[kind]:
        return False
    constraints = mapping_at(body, "spec", "matchConstraints")
    rules = mappings_at(constraints, "resourceRules")
    excluding = constraints.get("objectSelector") or constraints.get("excludeResourceRules")
    if excluding or len(rules) != 1:
        return False
    [rule] = rules
    return not rule.get("resourceNames") and all(
        rule.get(key) == value for key, value in _PODS.items()
    )
