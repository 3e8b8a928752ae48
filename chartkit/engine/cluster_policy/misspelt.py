"""Names in a policy that Kyverno takes though there is no such thing: kinds and functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.cluster_policy.policy_check.places import unknown_functions
from chartkit.engine.kubernetes.definitions import MISSPELT_RULE
from chartkit.engine.kubernetes.kinds import CLUSTER_SCOPED
from chartkit.model import Body, Diagnostic, Severity, list_of, mapping_at, mappings_at, pointer_of
from chartkit.schemas.kind_selectors import parse_kind_selector

_COMMON: Final = frozenset(kind for _, kind in CLUSTER_SCOPED) | {
    *("*", "Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"),
    *("Job", "CronJob", "Service", "ConfigMap", "Secret", "Ingress", "NetworkPolicy", "Role"),
    *("RoleBinding", "ServiceAccount", "PersistentVolumeClaim", "PodDisruptionBudget", "Event"),
    *("HorizontalPodAutoscaler", "ResourceQuota", "LimitRange", "Endpoints"),
}
"""Kinds that need no look at the table of all."""


def misspelt_names(policy: Policy) -> Iterator[Diagnostic]:
    """Yield a warning for each kind that is nearly one of Kubernetes', and for each function of
    JMESPath that Kyverno does not have."""
    for place, name, hint in unknown_functions(policy):
        message = f"{policy.name}: there is no JMESPath function '{name}': its rule will fail"
        yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, place, hint)
    for path, selector in _selectors(policy.resource.body):
        group, _, kind, _ = parse_kind_selector(selector)
        if kind in _COMMON:
            continue
        from chartkit.engine.cel.shapes.names import meant_kind

        if meant := meant_kind(group, kind):
            message = f"{policy.name}: no object is of kind '{kind}': the rule matches none"
            place = policy.resource.location.within(path)
            hint = f"did you mean '{meant}'?"
            yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, place, hint)


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
