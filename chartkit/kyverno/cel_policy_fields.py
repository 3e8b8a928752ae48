"""Kinds and fields of policies.kyverno.io by Kyverno version, and the API version of each kind.

`policy_fields.yaml` has the fields, and their source. Policies are written in the API version that
holds most of the kind: 1.16 serves v1beta1 too, but its MutatingPolicy there has other fields than
every other version's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from chartkit.kyverno.cluster_policy_fields import Field, Use, read_fields, rows, tables, uses
from chartkit.kyverno.versions import Version, parse_version
from chartkit.model import Body, mapping_at, mappings_at

GROUP = "policies.kyverno.io"
NAMESPACED = "Namespaced"


class ServedVersion(NamedTuple):
    """From which Kyverno version on a kind is written in which API version."""

    since: Version
    version: str


def _served(*pairs: tuple[int, str]) -> tuple[ServedVersion, ...]:
    return tuple(ServedVersion(Version(1, minor), version) for minor, version in pairs)


KINDS: Mapping[str, tuple[ServedVersion, ...]] = {
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
"""The kinds, those of a namespace among them; the newest version stands last."""


@cache
def fields() -> Mapping[str, tuple[Field, ...]]:
    """Return the fields below spec that are younger than their kind, by kind."""
    table = tables()["celPolicies"]
    return {kind: tuple(read_fields(each["fields"])) for kind, each in table.items()}


@cache
def settings() -> Mapping[str, Mapping[str, Version]]:
    """Return the settings of each kind in the chart's values, and the first Kyverno with each."""
    return {
        kind: {key: parse_version(since, "Kyverno") for key, since in each["settings"].items()}
        for kind, each in tables()["celPolicies"].items()
    }


def minimum_version(policy: Body) -> tuple[Version, Use | None]:
    """The oldest Kyverno that serves a policy's kind with every field that it has, and the field
    that says so (None: the kind itself). policy: of one of KINDS."""
    kind = str(policy["kind"])
    newest, reason = KINDS[kind][0].since, None
    for use in uses(policy, fields()[kind.removeprefix(NAMESPACED)]):
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
        "fields": {kind: rows(each) for kind, each in fields().items()},
        "settings": {
            kind: {key: since.number for key, since in each.items()}
            for kind, each in settings().items()
        },
    }


_PODS: Final = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def extends_to_controllers(body: Body) -> bool:
    """Report whether a policy matches Pods only, so that it is extended to their controllers.

    Source: Kyverno's `CanAutoGen` of CEL policies.
    """
    kind = str(body["kind"]).removeprefix(NAMESPACED)
    if "autogen" not in settings()[kind]:
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
