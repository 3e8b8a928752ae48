"""The rules of a webhook: the requests that policies are to be asked about.

ClusterPolicies name kinds, webhooks name resources; the source is Kyverno's
`pkg/controllers/webhook`. A webhook may be asked about more than its policies match, for they
decide themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from chartkit.engine.cel.shapes.matching import own_kind
from chartkit.engine.cel.shapes.table import known_kinds
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cluster_policy.autogen import all_rules
from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind
from chartkit.engine.configuration import NAME_LABEL
from chartkit.engine.kubernetes.kinds import (
    CustomNames,
    GroupVersionKind,
    is_cluster_scoped,
    resource_name,
)
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body, list_of, mapping_at, mappings_at
from chartkit.network.admission.selection import Webhook
from chartkit.schemas.kind_selectors import parse_kind_selector

ALL: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_WRITES: Final = ("CREATE", "UPDATE")
_ANY: Final = "*"
_NAMESPACED: Final = "Namespaced"
_ASKED: Final = {
    Webhook.VALIDATING: frozenset(
        (
            RuleKind.VALIDATE,
            RuleKind.POD_SECURITY,
            RuleKind.MANIFESTS,
            RuleKind.CEL,
            RuleKind.VERIFY_IMAGES,
        )
    ),
    Webhook.MUTATING: frozenset((RuleKind.MUTATE, RuleKind.VERIFY_IMAGES)),
}
"""The kinds of rules that a webhook asks; what is done in the background is in none."""


class Place(NamedTuple):
    """The API, the resource and the scope (inside namespaces or anywhere, `*`) of a kind."""

    group: str
    version: str
    resource: str
    scope: str


def cluster_policy_rules(
    policies: Iterable[Policy], webhook: Webhook, names: CustomNames
) -> list[Body]:
    """Return the rules for ClusterPolicies; names: of the custom kinds that are known."""
    asked: dict[Place, set[str]] = {}
    for policy in policies:
        for rule in all_rules(policy):
            if rule.kind in _ASKED[webhook]:
                _add(rule, policy, webhook, names, asked)
    grouped: dict[tuple[str, str, str, tuple[str, ...]], list[str]] = {}
    for place, found in sorted(asked.items()):
        operations = tuple(each for each in ALL if each in found)
        key = (place.group, place.version, place.scope, operations)
        grouped.setdefault(key, []).append(place.resource)
    return [
        {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": list(operations),
            "resources": _with_ephemeral_containers(group, resources),
            "scope": scope,
        }
        for (group, version, scope, operations), resources in grouped.items()
    ]


def _add(
    rule: Rule,
    policy: Policy,
    webhook: Webhook,
    names: CustomNames,
    asked: dict[Place, set[str]],
) -> None:
    default = ALL if webhook is Webhook.VALIDATING else _WRITES
    match = rule.match
    for each in (match.direct, *match.all, *match.any):
        operations = set(each.operations or default)
        if webhook is Webhook.MUTATING:
            operations.discard("DELETE")
        for selector in each.kinds:
            for place in _places(selector, bool(policy.namespace), names):
                asked.setdefault(place, set()).update(operations)


def _places(selector: str, is_namespaced: bool, names: CustomNames) -> Iterator[Place]:
    """Yield where the kinds of a selector such as `apps/v1/Deployment` or `Pod/exec` are."""
    group, version, kind, subresource = parse_kind_selector(selector)
    below = f"/{subresource}" if subresource else ""
    if kind == _ANY:
        scope = _NAMESPACED if is_namespaced else _ANY
        yield Place(group, version, f"{_ANY}{below}", scope)
        return
    fits = [compile_wildcard(each) for each in (group, version, kind)]
    found = False
    for known in {*known_kinds(), *names.plurals}:
        if all(check(text) for check, text in zip(fits, known, strict=True)):
            found = True
            resource = names.plural(known)
            yield Place(known.group, known.version, f"{resource}{below}", _scope(known, names))
    if not found:
        yield Place(group, version, f"{resource_name(kind)}{below}", _ANY)


def _scope(kind: GroupVersionKind, names: CustomNames) -> str:
    return _ANY if is_cluster_scoped(kind, names) else _NAMESPACED


def _with_ephemeral_containers(group: str, resources: list[str]) -> list[str]:
    """Return resources with the one through which kubectl debug changes a Pod."""
    if group in ("", _ANY) and ("pods" in resources or _ANY in resources):
        return sorted({*resources, "pods/ephemeralcontainers"})
    return resources


def forms_of(policy: CompiledCelPolicy) -> Sequence[CelPolicy]:
    """Return a CEL policy itself, and its forms for pod controllers."""
    return tuple({id(each.policy): each.policy for each in policy.evaluators}.values())


def cel_rules(forms: Iterable[CelPolicy]) -> list[Body]:
    """Return the rules for CEL policies, each once."""
    found: list[Body] = []
    for form in forms:
        for rule in mappings_at(form.spec, "matchConstraints", "resourceRules"):
            own = {
                "apiGroups": list_of(rule.get("apiGroups")),
                "apiVersions": list_of(rule.get("apiVersions")),
                "operations": list_of(rule.get("operations")),
                "resources": list_of(rule.get("resources")),
                "scope": rule.get("scope") or _ANY,
            }
            if own not in found:
                found.append(own)
    return found


def match_conditions(forms: Sequence[CelPolicy]) -> list[Body]:
    """Return the match conditions of a CEL policy; those of each form are for its kinds alone
    (`pkg/cel/autogen`)."""
    if len(forms) == 1:
        return mappings_at(forms[0].spec, "matchConditions")
    found: list[Body] = []
    for number, form in enumerate(forms):
        prefix = f"autogen-{number}" if number else "autogen"
        guard = " || ".join(_kinds_of(form))
        for each in mappings_at(form.spec, "matchConditions"):
            text = f"!({guard}) || ({each.get('expression')})"
            found.append({"name": f"{prefix}-{each.get('name')}", "expression": text})
    return found


def _kinds_of(form: CelPolicy) -> list[str]:
    found: set[str] = set()
    for rule in mappings_at(form.spec, "matchConstraints", "resourceRules"):
        for group in list_of(rule.get("apiGroups")):
            for version in list_of(rule.get("apiVersions")):
                api_version = f"{group}/{version}" if group else str(version)
                for resource in list_of(rule.get("resources")):
                    kind = own_kind(api_version, str(resource))
                    if kind is not None:
                        of_kind = f"object.kind == '{kind.kind}'"
                        found.add(f"(object.apiVersion == '{api_version}' && {of_kind})")
    return sorted(found)


def selectors_of(policy: CelPolicy) -> tuple[Body, Body]:
    """Return the namespace selector and the object selector of a CEL policy; that of a policy of
    a namespace takes this one alone."""
    constraints = mapping_at(policy.spec, "matchConstraints")
    namespaces = mapping_at(constraints, "namespaceSelector")
    if policy.namespace:
        own = {"key": NAME_LABEL, "operator": "In", "values": [policy.namespace]}
        namespaces = {"matchExpressions": [own]}
    return namespaces, mapping_at(constraints, "objectSelector")
