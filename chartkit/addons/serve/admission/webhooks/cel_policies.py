"""The webhooks of CEL policies: one for each failure policy and pair of selectors, and one for each
policy with match conditions, a timeout or `matchPolicy: Exact` (`buildWebhookRules`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from chartkit.addons.serve.admission.selection import CEL_PATHS, FINE_GRAINED, Webhook
from chartkit.addons.serve.admission.served_policies import FAIL, IGNORE, failure_policy
from chartkit.addons.serve.admission.webhooks.cluster_policies import (
    ALL,
    DOMAIN,
    LONGEST,
    TIMEOUT,
    PolicyWebhook,
    Scope,
    sorted_rules,
)
from chartkit.engine.cel.ast import Ident, nodes
from chartkit.engine.cel.shapes import own_kind
from chartkit.engine.cel_policies.admission import has_own_webhook, is_exact, known_conditions
from chartkit.engine.cel_policies.autogen import can_extend
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.configuration import NAME_LABEL
from chartkit.engine.kubernetes.kinds import NAMESPACED, CelKind
from chartkit.engine.policies import RunnablePolicy
from chartkit.model import Body, list_of, mapping_at, mappings_at

_RULES: Final = ("matchConstraints", "resourceRules")


def cel_policy_webhooks(
    policies: Sequence[RunnablePolicy], side: Webhook, scope: Scope
) -> Iterator[PolicyWebhook]:
    """Yield the webhooks of CEL policies."""
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
        """Yield their webhooks."""
        shared: dict[str, list[CompiledCelPolicy]] = {}
        for policy in policies:
            if has_own_webhook(policy.policy):
                yield self._fine_grained(policy)
            else:
                shared.setdefault(_digest(*self._selectors(policy.policy)), []).append(policy)
        for digest, group in shared.items():
            suffix = f"-{digest[:8]}" if len(shared) > 1 else ""
            # Every webhook of the group names all of it, whatever their failure policies.
            path = "/".join((self.root, *sorted(each.policy.name for each in group)))
            for failure in (FAIL, IGNORE):
                own = [each for each in group if failure_policy(each) == failure]
                rules = [rule for each in own for rule in self._rules(_forms(each))]
                if rules:
                    yield self._webhook(failure, suffix, path, own, rules)

    def _fine_grained(self, compiled: CompiledCelPolicy) -> PolicyWebhook:
        policy = compiled.policy
        place = f"{policy.namespace}-" if policy.namespace else ""
        suffix = f"-{FINE_GRAINED}-{place}{policy.name}"
        forms = _forms(compiled)
        if policy.kind_name == NAMESPACED + CelKind.IMAGE_VALIDATING:
            forms = forms[:1]  # As in Kyverno, which extends those of the cluster alone here.
        given = mapping_at(policy.spec, "webhookConfiguration").get("timeoutSeconds")
        settings: Body = {}
        if isinstance(given, int):
            settings["timeoutSeconds"] = min(given, LONGEST)
        if conditions := _match_conditions(forms):
            settings["matchConditions"] = conditions
        if self.side is Webhook.VALIDATING and is_exact(policy):
            settings["matchPolicy"] = "Exact"
        path = f"{self.root}/{policy.name}"
        failure, rules = failure_policy(compiled), self._rules(forms)
        return self._webhook(failure, suffix, path, [compiled], rules, settings)

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


def _both(one: Body, other: Body) -> Body:
    labels = {**mapping_at(one, "matchLabels"), **mapping_at(other, "matchLabels")}
    key = "matchExpressions"
    expressions = [*list_of(one.get(key)), *list_of(other.get(key))]
    found = {"matchLabels": labels, key: expressions}
    return {name: value for name, value in found.items() if value}


def _digest(*selectors: Body | None) -> str:
    """Return the name of a pair of selectors: the digest of their JSON as Go writes it."""
    keys = ("matchLabels", "matchExpressions")
    shown = json.loads(json.dumps(selectors, sort_keys=True))
    ordered = [each and {key: each[key] for key in keys if each.get(key)} for each in shown]
    return hashlib.sha256(json.dumps(ordered, separators=(",", ":")).encode("utf-8")).hexdigest()


def _match_conditions(forms: Sequence[CelPolicy]) -> list[Body]:
    """Return the match conditions of a webhook: those of each form are for its kinds alone; those
    about a namespace, which API servers do not know there, are left to Kyverno."""
    found: list[Body] = []
    constraints = forms[0].constraints
    is_extended = constraints is not None and can_extend(constraints)
    for form in (policy for policy in forms if not policy.of_templates):
        prefix, guard = "autogen", " || ".join(_kinds_of(form))
        if form is not forms[0]:
            prefix += "-cronjobs" if "'CronJob'" in guard else "-defaults"
        for condition, program in known_conditions(form):
            name, text = condition.name, condition.expression
            if is_extended:
                name, text = f"{prefix}-{name}", f"!({guard}) || ({text})"
            names = {each.name for each in nodes(program.root) if isinstance(each, Ident)}
            if "namespaceObject" not in names:
                found.append({"name": name, "expression": text})
    return found


def _kinds_of(form: CelPolicy) -> list[str]:
    found: set[str] = set()
    for rule in mappings_at(form.spec, *_RULES):
        keys = ("apiGroups", "apiVersions", "resources")
        for group, version, resource in product(*(list_of(rule.get(key)) for key in keys)):
            api_version = f"{group}/{version}" if group else str(version)
            if (kind := own_kind(api_version, str(resource))) is not None:
                of_kind = f"object.kind =='{kind.kind}'"
                found.add(f"(object.apiVersion == '{api_version}' && {of_kind})")
    return sorted(found)


def _forms(compiled: CompiledCelPolicy) -> list[CelPolicy]:
    """Return a policy, and its forms for pod controllers."""
    return list({id(each.policy): each.policy for each in compiled.evaluators}.values())
