"""Names in a policy that Kyverno takes though there is no such thing: kinds, functions, fields of a
request, keys of conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.cluster_policy.policy_check.places import misspelt_requests, unknown_functions
from chartkit.engine.kubernetes.definitions import MISSPELT_RULE
from chartkit.engine.kubernetes.kinds import CLUSTER_SCOPED
from chartkit.model import (
    Body,
    Diagnostic,
    FieldPath,
    Json,
    Severity,
    list_of,
    mapping_at,
    mappings_at,
    pointer_of,
)
from chartkit.schemas.kind_selectors import parse_kind_selector
from chartkit.suggestions import suggestion

_COMMON: Final = frozenset(kind for _, kind in CLUSTER_SCOPED) | {
    *("*", "Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"),
    *("Job", "CronJob", "Service", "ConfigMap", "Secret", "Ingress", "NetworkPolicy", "Role"),
    *("RoleBinding", "ServiceAccount", "PersistentVolumeClaim", "PodDisruptionBudget", "Event"),
    *("HorizontalPodAutoscaler", "ResourceQuota", "LimitRange", "Endpoints"),
}
"""Kinds that need no look at the table of all."""


def misspelt_names(policy: Policy) -> Iterator[Diagnostic]:
    """Yield a warning for each kind that is nearly one of Kubernetes', for each function of
    JMESPath that Kyverno does not have, for fields of `request` that are nearly such, and for keys
    next to which conditions are not read."""
    for place, name, hint in unknown_functions(policy):
        message = f"{policy.name}: there is no JMESPath function '{name}': its rule will fail"
        yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, place, hint)
    for place, name, hint in misspelt_requests(policy):
        message = f"{policy.name}: a request has no field '{name}': its value is null"
        yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, place, hint)
    for path, key in _unread_keys(policy.resource.body.get("spec"), ("spec",)):
        message = f"{policy.name}: conditions have no key '{key}': what it has is not read"
        place = policy.resource.location.within(pointer_of(*path, key))
        hint = suggestion(key, _BLOCKS) or f"known: {', '.join(_BLOCKS)}"
        yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, place, hint)
    for pointer, selector in _selectors(policy.resource.body):
        group, _, kind, _ = parse_kind_selector(selector)
        if kind in _COMMON:
            continue
        from chartkit.engine.cel.shapes.names import meant_kind

        if meant := meant_kind(group, kind):
            message = f"{policy.name}: no object is of kind '{kind}': the rule matches none"
            place = policy.resource.location.within(pointer)
            hint = f"did you mean '{meant}'?"
            yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, place, hint)


_BLOCKS: Final = ("any", "all")
_OBJECTS: Final = frozenset(
    ("pattern", "anyPattern", "patchStrategicMerge", "data", "match", "exclude", "context")
)
"""Keys of a rule below which no conditions are."""


def _unread_keys(value: Json, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """Yield each key of a block of conditions that is neither of both, with the block's path."""
    for key, each in _members(value):
        here = (*path, key)
        of_deny = key == "conditions" and path[-1] == "deny"
        of_statement = "attestations" in path and "conditions" in here
        if isinstance(each, dict) and (key == "preconditions" or of_deny or of_statement):
            yield from ((here, name) for name in map(str, each) if name not in _BLOCKS)
        elif key not in _OBJECTS:
            yield from _unread_keys(each, here)


def _members(value: Json) -> Iterator[tuple[str | int, Json]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _selectors(body: Body) -> Iterator[tuple[str, str]]:
    """Yield each kind that rules match or exclude, with its pointer."""
    for index, rule in enumerate(mappings_at(body, "spec", "rules")):
        for block in ("match", "exclude"):
            filters: list[tuple[tuple[str, ...], Body]] = [((block,), mapping_at(rule, block))]
            for key in ("any", "all"):
                listed = mappings_at(rule, block, key)
                filters += [((block, key, str(at)), each) for at, each in enumerate(listed)]
            for path, each in filters:
                kinds = list_of(mapping_at(each, "resources").get("kinds"))
                for at, kind in enumerate(kinds):
                    if isinstance(kind, str):
                        yield (
                            pointer_of("spec", "rules", index, *path, "resources", "kinds", at),
                            kind,
                        )
