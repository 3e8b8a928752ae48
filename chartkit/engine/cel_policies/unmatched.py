"""Match constraints of a policy in CEL that no object can pass, and those that no cluster asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cel.shapes.names import kinds_called, served_elsewhere
from chartkit.engine.cel_policies.policy import CelPolicy, ResourceRule, field_at
from chartkit.engine.kubernetes.definitions import WARNING_RULE
from chartkit.engine.kubernetes.kinds import is_cluster_scoped
from chartkit.engine.kubernetes.policy_kinds import CelKind
from chartkit.engine.kubernetes.selectors import never_fits
from chartkit.model import Diagnostic, Severity

_PATH: Final = "spec.matchConstraints"
_Fault = tuple[str, str, str]


def unmatched(policy: CelPolicy) -> list[Diagnostic]:
    """Return a warning for each part of the match constraints that no object can pass."""
    return [
        Diagnostic(
            WARNING_RULE, Severity.WARNING, f"{policy.key}: {text}", field_at(policy, path), hint
        )
        for path, text, hint in _faults(policy)
    ]


def _faults(policy: CelPolicy) -> Iterator[_Fault]:
    constraints = policy.constraints
    rules = () if constraints is None else constraints.rules
    if policy.kind is CelKind.IMAGE_VALIDATING and not rules and not policy.json:
        text = "has no resourceRules: Kyverno accepts it and makes no webhook of it"
        yield _PATH, text, "no cluster asks the policy: name the resources that it is about"
    if constraints is None:
        return
    # A policy of removed versions says that it means no other.
    is_exact = policy.spec["matchConstraints"].get("matchPolicy") == "Exact"
    for index, rule in enumerate(() if is_exact else rules):
        yield from _of_rule(rule, f"{_PATH}.resourceRules[{index}]")
    namespaces = constraints.namespace_selector
    selectors = (("namespaceSelector", namespaces), ("objectSelector", constraints.object_selector))
    for name, selector in selectors:
        if selector is not None and (problem := never_fits(selector, wildcards=False)):
            yield f"{_PATH}.{name}", f"no object fits the {name}: {problem}", "correct it"
    if namespaces is not None and rules and all(map(_is_cluster_scoped, rules)):
        text = "the resources are cluster-scoped: namespaceSelector has no effect on them"
        yield f"{_PATH}.namespaceSelector", text, "remove it"


def _of_rule(rule: ResourceRule, path: str) -> Iterator[_Fault]:
    for at, resource in enumerate(rule.resources):
        name = resource.partition("/")[0]
        places = served_elsewhere(rule.groups, rule.versions, kinds_called(name).__contains__)
        if places:
            text = f"no API server has the resource '{resource}' in these groups and versions"
            yield f"{path}.resources[{at}]", f"{text}: no object matches", f"it is in {places}"
    scoped = {is_cluster_scoped(kind) for name in rule.resources for kind in kinds_called(name)}
    if rule.scope in ("Cluster", "Namespaced") and scoped == {rule.scope == "Namespaced"}:
        other = "cluster-scoped" if True in scoped else "namespaced"
        yield f"{path}.scope", f"the resources are {other}: no object matches", "remove the scope"


def _is_cluster_scoped(rule: ResourceRule) -> bool:
    kinds = [kinds_called(name) for name in rule.resources]
    return all(kinds) and all(
        is_cluster_scoped(kind) and kind.kind != "Namespace" for found in kinds for kind in found
    )
