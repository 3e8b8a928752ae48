"""Filters of a ClusterPolicy that no object can pass, which Kyverno takes in silence: a kind in
a group or version without it, a selector, namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy, ResourceFilter
from chartkit.engine.cluster_policy.policy_check.generation import IsClusterWide
from chartkit.engine.cluster_policy.policy_check.webhook import filters_of
from chartkit.engine.kubernetes.definitions import WARNING_RULE
from chartkit.engine.kubernetes.selectors import compile_selector, never_fits
from chartkit.model import Diagnostic, FieldPath, Severity, pointer_of
from chartkit.schemas.kind_selectors import parse_kind_selector

_NAMESPACE: Final = re.compile(r"[a-z0-9*?]([-a-z0-9*?]*[a-z0-9*?])?")
_Fault = tuple[FieldPath, str, str]


def unmatched(policy: Policy, cluster_wide: IsClusterWide) -> Iterator[Diagnostic]:
    """Yield a warning for each part of a filter that no object can pass."""
    for index, rule in enumerate(policy.rules):
        for path, one in filters_of(rule):
            for below, text, hint in _faults(one, cluster_wide):
                pointer = pointer_of("spec", "rules", index, *path, "resources", *below)
                place = policy.resource.location.within(pointer)
                end = "the rule matches none" if path[0] == "match" else "it excludes none"
                message = f"{policy.key}: rule {rule.name}: {text}: {end}"
                yield Diagnostic(WARNING_RULE, Severity.WARNING, message, place, hint)


def _faults(one: ResourceFilter, cluster_wide: IsClusterWide) -> Iterator[_Fault]:
    for at, kind in enumerate(one.kinds):
        if "/" in kind:
            yield from _of_kind(at, kind)
    selectors = (("selector", one.selector), ("namespaceSelector", one.namespace_selector))
    for name, selector in selectors:
        if selector is not None and (problem := never_fits(selector, wildcards=True)):
            yield (name,), f"no object fits the {name}: {problem}", "correct it"
    for at, namespace in enumerate(one.namespaces):
        if not _NAMESPACE.fullmatch(namespace):
            hint = "names of namespaces have lower case letters, digits and '-'"
            yield ("namespaces", at), f"no namespace can be called '{namespace}'", hint
    if one.kinds and all(cluster_wide(kind) for kind in one.kinds):
        # What namespaces are asked of objects that have none; a Namespace is in itself.
        if any(parse_kind_selector(kind).kind == "Namespace" for kind in one.kinds):
            return
        text = f"{', '.join(one.kinds)} is cluster-scoped, and in no namespace"
        selector = one.namespace_selector
        if one.namespaces:
            yield ("namespaces",), text, "remove `namespaces`"
        if selector is not None and not compile_selector(selector)({}):
            yield ("namespaceSelector",), text, "remove `namespaceSelector`"


def _of_kind(at: int, selector: str) -> Iterator[_Fault]:
    from chartkit.engine.cel.shapes.names import served_elsewhere

    group, version, kind, _ = parse_kind_selector(selector)
    places = served_elsewhere((group,), (version,), lambda known: known.kind == kind)
    if places:
        yield ("kinds", at), f"no API server has the kind '{selector}'", f"{kind} is in {places}"
