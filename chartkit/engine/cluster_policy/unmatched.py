"""Filters of a ClusterPolicy that no object can pass, which Kyverno takes in silence: a kind in
a group or version without it, a selector, namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy, ResourceFilter
from chartkit.engine.cluster_policy.policy_check.warnings import IsClusterWide
from chartkit.engine.context.variables import OPEN, any_text
from chartkit.engine.kubernetes.definitions import MISSPELT_RULE, WARNING_RULE
from chartkit.engine.kubernetes.kinds import CLUSTER_SCOPED
from chartkit.model import (
    Body,
    Diagnostic,
    FieldPath,
    Json,
    Severity,
    pointer_of,
)
from chartkit.schemas.kind_selectors import parse_kind_selector
from chartkit.suggestions import suggestion

_NAMESPACE: Final = re.compile(r"[a-z0-9*?]([-a-z0-9*?]*[a-z0-9*?])?")
_Fault = tuple[FieldPath, str, str]


def unmatched(policy: Policy, cluster_wide: IsClusterWide) -> Iterator[Diagnostic]:
    """Yield a warning for each part of a filter that no object can pass."""
    for index, rule in enumerate(policy.rules):
        for path, resource_filter in rule.filters():
            for below, text, hint in _faults(resource_filter, cluster_wide):
                pointer = pointer_of("spec", "rules", index, *path, "resources", *below)
                location = policy.resource.location.within(pointer)
                end = "the rule matches none" if path[0] == "match" else "it excludes none"
                message = f"{policy.key}: rule {rule.name}: {text}: {end}"
                yield Diagnostic(WARNING_RULE, Severity.WARNING, message, location, hint)


def _faults(block: ResourceFilter, cluster_wide: IsClusterWide) -> Iterator[_Fault]:
    for at, kind in enumerate(block.kinds):
        if "/" in kind:
            yield from _of_kind(at, kind)
    selectors = (("selector", block.selector), ("namespaceSelector", block.namespace_selector))
    for name, selector in selectors:
        if selector is None:
            continue
        from chartkit.engine.kubernetes.selectors import never_fits

        if problem := never_fits(selector, wildcards=True):
            yield (name,), f"no object fits the {name}: {problem}", "correct it"
    for at, namespace in enumerate(block.namespaces):
        if not _NAMESPACE.fullmatch(namespace):
            hint = "names of namespaces have lower case letters, digits and '-'"
            yield ("namespaces", at), f"no namespace can be called '{namespace}'", hint
    if block.kinds and all(cluster_wide(kind) for kind in block.kinds):
        # What namespaces are asked of objects that have none; a Namespace is in itself.
        if any(parse_kind_selector(kind).kind == "Namespace" for kind in block.kinds):
            return
        text = f"{', '.join(block.kinds)} is cluster-scoped, and in no namespace"
        selector = block.namespace_selector
        if block.namespaces:
            yield ("namespaces",), text, "remove `namespaces`"
        if selector is None:
            return
        from chartkit.engine.kubernetes.selectors import compile_selector

        if not compile_selector(selector)({}):
            yield ("namespaceSelector",), text, "remove `namespaceSelector`"


def _of_kind(at: int, selector: str) -> Iterator[_Fault]:
    from chartkit.engine.cel.shapes import served_elsewhere

    group, version, kind, subresource = parse_kind_selector(selector)
    if subresource[:1].isupper():
        text = f"'{selector}' is the subresource '{subresource}' of the kind '{kind}'"
        yield ("kinds", at), text, f"write GROUP/VERSION/{subresource}, or {subresource} alone"
    places = served_elsewhere((group,), (version,), lambda gvk: gvk.kind == kind)
    if places:
        yield ("kinds", at), f"no API server has the kind '{selector}'", f"{kind} is in {places}"


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
    if any_text(policy.resource.body, lambda text: OPEN in text or text == "jmesPath"):
        from chartkit.engine.cluster_policy.policy_check.places import (
            misspelt_requests,
            unknown_functions,
        )

        for location, query_name, hint in unknown_functions(policy):
            message = (
                f"{policy.name}: there is no JMESPath function '{query_name}': its rule will fail"
            )
            yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, location, hint)
        for location, query_name, hint in misspelt_requests(policy):
            message = f"{policy.name}: a request has no field '{query_name}': its value is null"
            yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, location, hint)
    for path, block in condition_blocks(policy.resource.body.get("spec"), ("spec",)):
        for key in (name for name in map(str, block) if name not in _BLOCKS):
            message = f"{policy.name}: conditions have no key '{key}': what it has is not read"
            location = policy.resource.location.within(pointer_of(*path, key))
            hint = suggestion(key, _BLOCKS) or f"known: {', '.join(_BLOCKS)}"
            yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, location, hint)
    for path, selector in _selectors(policy):
        group, _, kind, _ = parse_kind_selector(selector)
        if kind in _COMMON:
            continue
        from chartkit.engine.cel.shapes import meant_kind

        if meant := meant_kind(group, kind):
            message = f"{policy.name}: no object is of kind '{kind}': the rule matches none"
            location = policy.resource.location.within(pointer_of(*path))
            hint = f"did you mean '{meant}'?"
            yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, location, hint)


_BLOCKS: Final = ("any", "all")
_OBJECTS: Final = frozenset(
    ("pattern", "anyPattern", "patchStrategicMerge", "data", "match", "exclude", "context")
)
"""Keys of a rule below which no conditions are."""


def condition_blocks(value: Json, path: FieldPath) -> Iterator[tuple[FieldPath, Body]]:
    """Yield each block of conditions in a rule or a part of one, with its path."""
    for key, member in _members(value):
        here = (*path, key)
        of_deny = key == "conditions" and path[-1] == "deny"
        of_statement = "attestations" in path and "conditions" in here
        if isinstance(member, dict) and (key == "preconditions" or of_deny or of_statement):
            yield here, member
        elif key not in _OBJECTS:
            yield from condition_blocks(member, here)


def _members(value: Json) -> Iterator[tuple[str | int, Json]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _selectors(policy: Policy) -> Iterator[tuple[FieldPath, str]]:
    """Yield each kind that rules match or exclude, with its path."""
    for index, rule in enumerate(policy.rules):
        for path, resource_filter in rule.filters():
            for at, kind in enumerate(resource_filter.kinds):
                yield ("spec", "rules", index, *path, "resources", "kinds", at), kind
