"""The webhooks that Kyverno's controller makes of policies (`pkg/controllers/webhook`).

Of ClusterPolicies and Policies there is one for each failure policy, and one for each with match
conditions of its own. Policies name kinds, webhooks name resources; a webhook may be asked about
more than its policies match, for they decide themselves (`mergeWebhook`,
`collectResourceDescriptions`). Of CEL policies there is one for each failure policy and pair of
selectors, and one for each policy with match conditions, a timeout or `matchPolicy: Exact`
(`buildWebhookRules`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final, NamedTuple

from chartkit.addons.serve.admission.selection import (
    CEL_PATHS,
    FAIL,
    FINE_GRAINED,
    IGNORE,
    Webhook,
    failure_policy,
)
from chartkit.engine.cel.ast import Ident, nodes
from chartkit.engine.cel.shapes import own_kind
from chartkit.engine.cel_policies.admission import has_own_webhook, is_exact, known_conditions
from chartkit.engine.cel_policies.autogen import can_extend
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cluster_policy.autogen import all_rules
from chartkit.engine.cluster_policy.policy import Match, Policy, ResourceFilter, Rule, RuleKind
from chartkit.engine.configuration import NAME_LABEL
from chartkit.engine.kubernetes.field_faults import known_kinds
from chartkit.engine.kubernetes.kinds import (
    NAMESPACED,
    UNKNOWN,
    CelKind,
    CustomNames,
    is_cluster_scoped,
    resource_name,
)
from chartkit.engine.policies import RunnablePolicy
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body, list_of, mapping_at, mappings_at, texts_of
from chartkit.schemas.kind_selectors import parse_kind_selector

DOMAIN: Final = "kyverno.svc"
"""The domain of Kyverno's webhooks, for denials to read the same."""
TIMEOUT: Final = 10
LONGEST: Final = 30
"""Seconds: the default, and the most that an API server waits."""
WRITES: Final = ("CREATE", "UPDATE")
ALL: Final = (*WRITES, "DELETE", "CONNECT")
_LISTS: Final = ("apiGroups", "apiVersions", "resources", "operations")
_ANY: Final = "*"
_NAMESPACED: Final = "Namespaced"
_CHECKS: Final = ("verifyDigest", "required")
VALIDATING: Final = frozenset(
    (RuleKind.VALIDATE, RuleKind.POD_SECURITY, RuleKind.MANIFESTS, RuleKind.CEL)
)
_MUTATING: Final = frozenset((RuleKind.MUTATE, RuleKind.VERIFY_IMAGES))
_RULES: Final = ("matchConstraints", "resourceRules")


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a cluster that webhooks cover, and what is known of it.

    namespaces: the selector of Kyverno's configuration; names: of the custom kinds that are known;
    in_background: whether to ask for generation and the mutation of objects that exist, as Kyverno
    does; judges_writes: whether a rule that names no operation is to name CREATE and UPDATE.
    """

    namespaces: Body = field(default_factory=dict)
    names: CustomNames = UNKNOWN
    in_background: bool = False
    judges_writes: Callable[[Rule], bool] = lambda _rule: False


def other_namespaces(excluded: Sequence[str]) -> Body:
    """Return the selector of all namespaces except some."""
    if not excluded:
        return {}
    operator = {"key": NAME_LABEL, "operator": "NotIn", "values": list(excluded)}
    return {"matchExpressions": [operator]}


@dataclass(frozen=True, slots=True)
class PolicyWebhook:
    """A webhook of policies. path: of its server; policies: their keys; namespaces, objects:
    selectors; settings: its further fields."""

    name: str
    path: str
    side: Webhook
    failure: str
    policies: Sequence[str]
    rules: list[Body]
    namespaces: Body
    objects: Body = field(default_factory=dict)
    settings: Body = field(default_factory=dict)


def sorted_rules(rules: Iterable[Body]) -> list[Body]:
    """Return rules as Kyverno's controller writes them: sorted, each once."""
    rows = {
        (*(tuple(sorted(rule.get(key) or ())) for key in _LISTS), str(rule.get("scope") or "*"))
        for rule in rules
    }
    ordered = sorted(rows, key=lambda rule: ([(len(part), part) for part in rule[:-1]], rule[-1]))
    return [
        {**{key: [*values] for key, values in zip(_LISTS, rule, strict=False)}, "scope": rule[-1]}
        for rule in ordered
    ]


class _Entry(NamedTuple):
    """An operation on a resource, with the API and the scope (inside namespaces or anywhere)."""

    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    operation: str


def cluster_policy_webhooks(
    policies: Sequence[RunnablePolicy], side: Webhook, scope: Scope
) -> Iterator[PolicyWebhook]:
    groups: dict[tuple[str, str], list[tuple[Policy, set[_Entry]]]] = {}
    for runnable_policy in policies:
        policy = runnable_policy.policy
        if isinstance(policy, Policy) and (entries := set(_entries(policy, side, scope))):
            key = policy.key if policy.match_conditions else ""
            groups.setdefault((failure_policy(runnable_policy), key), []).append((policy, entries))
    for (failure, key), group in groups.items():
        asked = [policy for policy, _ in group]
        first = "validate" if side is Webhook.VALIDATING else "mutate"
        name, path = f"{first}.{DOMAIN}-{failure.lower()}", f"/{first}/{failure.lower()}"
        # The longest timeout that policies ask for.
        given = [TIMEOUT]
        for policy in asked:
            spec = mapping_at(policy.resource.body, "spec")
            own = mapping_at(spec, "webhookConfiguration").get("timeoutSeconds")
            own = own or spec.get("webhookTimeoutSeconds")
            given += [own] if isinstance(own, int) else []
        settings: Body = {"timeoutSeconds": min(max(given), LONGEST)}
        if key:
            name += f"-{FINE_GRAINED}-{key.replace('/', '-')}"
            path += f"/{FINE_GRAINED}/{key}"
            settings["matchConditions"] = [*asked[0].match_conditions]
        if side is Webhook.MUTATING:
            settings["reinvocationPolicy"] = "IfNeeded"
        rules = _rules(set().union(*(entries for _, entries in group)))
        keys = [policy.key for policy in asked]
        yield PolicyWebhook(
            name, path, side, failure, keys, rules, scope.namespaces, settings=settings
        )


def _entries(policy: Policy, side: Webhook, scope: Scope) -> Iterator[_Entry]:
    rules = all_rules(policy)
    mutates = any(rule.kind in _MUTATING for rule in rules)
    for rule in rules:
        if default := _operations(rule, side, mutates, scope):
            for selector, operations in _described(rule, default).items():
                for where in _places(selector, bool(policy.namespace), scope):
                    yield from (_Entry(*where, operation) for operation in operations)


def _operations(rule: Rule, side: Webhook, mutates: bool, scope: Scope) -> Sequence[str]:
    """Return the operations that a rule means if it names none, on one side; none where the rule
    is not asked there. mutates: whether a rule of its policy does at admission."""
    kind, validates = rule.kind, side is Webhook.VALIDATING
    if kind is RuleKind.GENERATE:
        return ALL if scope.in_background and (validates or mutates) else ()
    if not validates:
        is_asked = kind in _MUTATING or (mutates and kind is RuleKind.MANIFESTS)
        return WRITES if is_asked else ()
    is_asked = kind in VALIDATING or (kind is RuleKind.MUTATE_EXISTING and scope.in_background)
    if kind is RuleKind.VERIFY_IMAGES:
        is_asked = any(image.get(key, True) for image in rule.verify_images for key in _CHECKS)
    return (WRITES if scope.judges_writes(rule) else ALL) if is_asked else ()


def _described(rule: Rule, default: Sequence[str]) -> dict[str, set[str]]:
    """The operations by the kinds that a rule matches or generates, less those excluded."""
    operations: dict[str, set[str]] = {}
    for resource_filter in filters_of(rule.match):
        for kind in resource_filter.kinds:
            operations.setdefault(kind, set()).update(resource_filter.operations or default)
    for resource_filter in rule.exclude.any if rule.exclude else ():
        if not (resource_filter.has_user or _is_narrow(resource_filter)):
            for kind in resource_filter.kinds or tuple(operations):
                operations.get(kind, set()).difference_update(resource_filter.operations or ALL)
    for kind in _generated_kinds(rule.generate or {}):
        operations.setdefault(kind, set()).update((*WRITES, "DELETE"))
    return operations


def filters_of(match: Match) -> tuple[ResourceFilter, ...]:
    return (match.direct, *match.all, *match.any)


def _is_narrow(block: ResourceFilter) -> bool:
    named = block.name or block.names or block.namespaces or block.annotations
    return bool(named or block.selector is not None or block.namespace_selector is not None)


def _generated_kinds(generate: Body) -> Iterator[str]:
    for block in (generate, *mappings_at(generate, "foreach")):
        if isinstance(block.get("kind"), str) and block["kind"]:
            yield block["kind"]
        else:
            yield from texts_of(mapping_at(block, "cloneList").get("kinds"))


def _places(
    selector: str, is_namespaced: bool, scope: Scope
) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the resources of a selector such as `apps/v1/Deployment` or `Pod/exec`."""
    group, version, kind, below = parse_kind_selector(selector)
    if kind == _ANY:
        yield group, version, kind, below, _NAMESPACED if is_namespaced else _ANY
        return
    fits = [compile_wildcard(name) for name in (group, version, kind)]
    names, is_known = scope.names, False
    for served in {*known_kinds(), *names.plurals}:
        if all(check(text) for check, text in zip(fits, served, strict=True)):
            is_known = True
            where = _ANY if is_cluster_scoped(served, names) else _NAMESPACED
            yield served.group, served.version, names.plural(served), below, where
    if not is_known:
        yield group, version, resource_name(kind), below, _ANY


def _rules(entries: set[_Entry]) -> list[Body]:
    """Return the rules for entries: resources of a group, version and scope with equal operations
    share one; rules that a wider one covers are left out."""
    operations: dict[tuple[str, str, str, str], set[str]] = {}
    for entry in entries:
        group, version, resource, below, scope, operation = entry
        places = {(resource, below), (_ANY, below), (_ANY, _ANY), (resource, below and _ANY)}
        wider = product({group, _ANY}, {version, _ANY}, places, {scope, _ANY})
        is_covered = any(
            (covering := _Entry(api, other, name, under, where, operation)) != entry
            and covering in entries
            for api, other, (name, under), where in wider
        )
        if not is_covered:
            below = f"/{entry.subresource}" if entry.subresource else ""
            key = (entry.group, entry.version, entry.scope, entry.resource + below)
            operations.setdefault(key, set()).add(entry.operation)
    grouped: dict[tuple[str, str, str, frozenset[str]], set[str]] = {}
    for (group, version, scope, resource), allowed in operations.items():
        own = grouped.setdefault((group, version, scope, frozenset(allowed)), set())
        own.add(resource)
        if group in ("", _ANY) and version in ("v1", _ANY) and resource in ("pods", _ANY):
            own.add("pods/ephemeralcontainers")  # kubectl debug changes Pods through it.
    return sorted_rules(
        {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": allowed,
            "resources": resources,
            "scope": scope,
        }
        for (group, version, scope, allowed), resources in grouped.items()
    )


def cel_policy_webhooks(
    policies: Sequence[RunnablePolicy], side: Webhook, scope: Scope
) -> Iterator[PolicyWebhook]:
    for path, (kind, of_path) in CEL_PATHS.items():
        if of_path is side and (kind is not CelKind.GENERATING or scope.in_background):
            for prefix in ("", NAMESPACED):
                own = [
                    policy
                    for policy in policies
                    if isinstance(policy, CompiledCelPolicy)
                    and policy.policy.kind_name == prefix + kind
                    and not (path == "ivpol/mutate" and _keeps_tags(policy.policy))
                ]
                root = f"/{'n' if prefix else ''}{path}"
                yield from _Family(kind, prefix, root, side, scope).webhooks(own)


def _keeps_tags(policy: CelPolicy) -> bool:
    return mapping_at(policy.spec, "validationConfigurations").get("mutateDigest") is False


@dataclass(frozen=True, slots=True)
class _Family:
    """The policies of one kind on one side. root: the path of their webhooks."""

    kind: CelKind
    prefix: str
    root: str
    side: Webhook
    scope: Scope

    def webhooks(self, policies: Sequence[CompiledCelPolicy]) -> Iterator[PolicyWebhook]:
        shared: dict[str, list[CompiledCelPolicy]] = {}
        for policy in policies:
            if has_own_webhook(policy.policy):
                fine_policy = policy.policy
                namespace = f"{fine_policy.namespace}-" if fine_policy.namespace else ""
                suffix = f"-{FINE_GRAINED}-{namespace}{fine_policy.name}"
                forms = self._forms(policy, CelKind.IMAGE_VALIDATING)
                given = mapping_at(fine_policy.spec, "webhookConfiguration").get("timeoutSeconds")
                settings: Body = {}
                if isinstance(given, int):
                    settings["timeoutSeconds"] = min(given, LONGEST)
                if conditions := _match_conditions(forms):
                    settings["matchConditions"] = conditions
                if self.side is Webhook.VALIDATING and is_exact(fine_policy):
                    settings["matchPolicy"] = "Exact"
                path = f"{self.root}/{fine_policy.name}"
                failure, rules = failure_policy(policy), self._rules(forms)
                yield self._webhook(failure, suffix, path, [policy], rules, settings)
            else:
                shared.setdefault(_digest(*self._selectors(policy.policy)), []).append(policy)
        for digest, group in shared.items():
            suffix = f"-{digest[:8]}" if len(shared) > 1 else ""
            # Every webhook of the group names all of it, whatever their failure policies.
            path = "/".join((self.root, *sorted(policy.policy.name for policy in group)))
            for failure in (FAIL, IGNORE):
                own = [policy for policy in group if failure_policy(policy) == failure]
                extended = (self._forms(policy, CelKind.VALIDATING) for policy in own)
                rules = [rule for forms in extended for rule in self._rules(forms)]
                if rules:
                    yield self._webhook(failure, suffix, path, own, rules)

    def _forms(self, compiled: CompiledCelPolicy, unextended: CelKind) -> list[CelPolicy]:
        """The policy, and its forms for pod controllers; unextended: the kind whose policies of a
        namespace Kyverno does not extend in these webhooks."""
        forms = list({id(form.policy): form.policy for form in compiled.evaluators}.values())
        return forms[:1] if self.prefix and self.kind is unextended else forms

    def _rules(self, forms: Sequence[CelPolicy]) -> list[Body]:
        all_operations = {"operations": ALL} if self.kind is CelKind.GENERATING else {}
        return [
            {**rule, **all_operations} for form in forms for rule in mappings_at(form.spec, *_RULES)
        ]

    def _webhook(
        self,
        failure: str,
        suffix: str,
        path: str,
        policies: list[CompiledCelPolicy],
        rules: list[Body],
        settings: Body | None = None,
    ) -> PolicyWebhook:
        # MutatingPolicies are under `mpol.validate`, and ImageValidatingPolicies of a namespace
        # have the name of the others.
        first = self.root.removeprefix("/").partition("/")[0].removeprefix("n")
        first = f"n{first}" if self.prefix and first != "ivpol" else first
        side = "mutate" if self.root.endswith("/mutate") else "validate"
        namespaces, objects = self._selectors(policies[0].policy)
        return PolicyWebhook(
            f"{first}.{side}.{DOMAIN}-{failure.lower()}{suffix}",
            path,
            self.side,
            failure,
            [policy.policy.key for policy in policies],
            sorted_rules(rules),
            namespaces or {},
            objects or {},
            {"timeoutSeconds": TIMEOUT, **(settings or {})},
        )

    def _selectors(self, policy: CelPolicy) -> tuple[Body | None, Body | None]:
        """Return the selectors of a policy's webhook: its own, and the excluded namespaces. The
        webhook of a namespaced policy takes its namespace alone."""
        constraints = mapping_at(policy.spec, "matchConstraints")
        namespaces = constraints.get("namespaceSelector")
        if policy.namespace:
            own = {"key": NAME_LABEL, "operator": "In", "values": [policy.namespace]}
            namespaces = {"matchExpressions": [own]}
        further = self.scope.namespaces or None
        namespaces = further if namespaces is None else _both(namespaces, further or {})
        return namespaces, constraints.get("objectSelector")


def _both(first: Body, other: Body) -> Body:
    labels = {**mapping_at(first, "matchLabels"), **mapping_at(other, "matchLabels")}
    key = "matchExpressions"
    expressions = [*list_of(first.get(key)), *list_of(other.get(key))]
    selector = {"matchLabels": labels, key: expressions}
    return {name: value for name, value in selector.items() if value}


def _digest(*selectors: Body | None) -> str:
    """Return the name of a pair of selectors: the digest of their JSON as Go writes it."""
    keys = ("matchLabels", "matchExpressions")
    shown = json.loads(json.dumps(selectors, sort_keys=True))
    ordered = [part and {key: part[key] for key in keys if part.get(key)} for part in shown]
    return hashlib.sha256(json.dumps(ordered, separators=(",", ":")).encode("utf-8")).hexdigest()


def _match_conditions(forms: Sequence[CelPolicy]) -> list[Body]:
    """Return the match conditions of a webhook: each form's conditions are for its kinds alone;
    conditions about a namespace, which API servers do not know there, are left to Kyverno."""
    conditions: list[Body] = []
    constraints = forms[0].constraints
    is_extended = constraints is not None and can_extend(constraints)
    for form in (policy for policy in forms if not policy.of_templates):
        kinds: set[str] = set()
        for rule in mappings_at(form.spec, *_RULES):
            keys = "apiGroups", "apiVersions", "resources"
            for group, version, resource in product(*(list_of(rule.get(key)) for key in keys)):
                api_version = f"{group}/{version}" if group else str(version)
                if (kind := own_kind(api_version, str(resource))) is not None:
                    of_kind = f"object.kind =='{kind.kind}'"
                    kinds.add(f"(object.apiVersion == '{api_version}' && {of_kind})")
        prefix, guard = "autogen", " || ".join(sorted(kinds))
        if form is not forms[0]:
            prefix += "-cronjobs" if "'CronJob'" in guard else "-defaults"
        for condition, program in known_conditions(form):
            name, text = condition.name, condition.expression
            if is_extended:
                name, text = f"{prefix}-{name}", f"!({guard}) || ({text})"
            names = {node.name for node in nodes(program.root) if isinstance(node, Ident)}
            if "namespaceObject" not in names:
                conditions.append({"name": name, "expression": text})
    return conditions
