"""Webhook configurations for a server, by its policies, as Kyverno's controller makes them.

ClusterPolicies share a webhook for each failure policy, those with match conditions of their own
have one each; CEL policies share one for each pair of selectors (`pkg/controllers/webhook`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel_policies.policy import NAMESPACED, CelPolicy
from chartkit.engine.cel_policies.run import CompiledCelPolicy
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.configuration import NAME_LABEL
from chartkit.engine.kubernetes.kinds import ADMISSION_GROUP, UNKNOWN, CustomNames
from chartkit.engine.policies import RunnablePolicy
from chartkit.model import Body, mapping_at
from chartkit.network.admission.rules import (
    cel_rules,
    cluster_policy_rules,
    forms_of,
    match_conditions,
    selectors_of,
)
from chartkit.network.admission.selection import CEL_PATHS, FINE_GRAINED, Webhook, admits
from chartkit.network.admission.served import FAIL, IGNORE, failure_policy

NAME: Final = "chartkit-serve"
MANAGER: Final = "chartkit-serve"
"""The field manager of what a server writes."""
MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "chartkit"}
_TIMEOUT: Final = 10
_LONGEST: Final = 30
_FIRST: Final = {Webhook.VALIDATING: "validate", Webhook.MUTATING: "mutate"}
_DOMAIN: Final = "kyverno.svc"
"""The domain of Kyverno's webhooks, for denials to read the same."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The place at which an API server finds this server.

    url: without a path, empty for a Service; authority: PEM of the certificate that it trusts.
    """

    authority: bytes
    url: str = ""
    namespace: str = ""
    service: str = ""
    port: int = 443

    def client_config(self, path: str) -> Body:
        """Return `clientConfig` of a webhook."""
        trusted = base64.b64encode(self.authority).decode("ascii")
        if self.url:
            return {"url": f"{self.url}{path}", "caBundle": trusted}
        service = {"namespace": self.namespace, "name": self.service, "port": self.port}
        return {"service": {**service, "path": path}, "caBundle": trusted}


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a cluster that webhooks cover.

    excluded: namespaces; names: of the custom kinds that are known.
    """

    excluded: tuple[str, ...] = ()
    names: CustomNames = UNKNOWN

    @property
    def namespaces(self) -> Body:
        """The namespace selector of every webhook."""
        if not self.excluded:
            return {}
        operator = {"key": NAME_LABEL, "operator": "NotIn", "values": list(self.excluded)}
        return {"matchExpressions": [operator]}


def webhook_configurations(
    policies: Sequence[RunnablePolicy], endpoint: Endpoint, scope: Scope
) -> list[Body]:
    """Return the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration; one without
    webhooks is left out."""
    asked = [each for each in policies if admits(each)]
    found: list[Body] = []
    for webhook in Webhook:
        hooks = [*_of_cluster_policies(asked, webhook, endpoint, scope)]
        hooks += _of_cel_policies(asked, webhook, endpoint, scope)
        if hooks:
            metadata = {"name": NAME, "labels": MANAGED_BY}
            version = f"{ADMISSION_GROUP}/v1"
            head = {"apiVersion": version, "kind": webhook.value, "metadata": metadata}
            found.append({**head, "webhooks": hooks})
    return found


def _of_cluster_policies(
    asked: Sequence[RunnablePolicy], webhook: Webhook, endpoint: Endpoint, scope: Scope
) -> Iterator[Body]:
    shared: dict[str, list[Policy]] = {FAIL: [], IGNORE: []}
    own: list[tuple[str, Policy]] = []
    for each in asked:
        policy = each.policy
        if isinstance(policy, Policy):
            if policy.match_conditions:
                own.append((failure_policy(each), policy))
            else:
                shared[failure_policy(each)].append(policy)
    groups = [(failure, tuple(policies), "") for failure, policies in shared.items()]
    groups += [(failure, (policy,), policy.key) for failure, policy in own]
    for failure, policies, key in groups:
        rules = cluster_policy_rules(policies, webhook, scope.names)
        if not rules:
            continue
        base = f"{_FIRST[webhook]}.{_DOMAIN}-{failure.lower()}"
        path = f"/{_FIRST[webhook]}/{failure.lower()}"
        if key:
            base += f"-{FINE_GRAINED}-{key.replace('/', '-')}"
            path += f"/{FINE_GRAINED}/{key}"
        hook = _hook(base, endpoint.client_config(path), failure, rules, webhook)
        hook["timeoutSeconds"] = _timeout(policies)
        hook["namespaceSelector"] = scope.namespaces
        hook["objectSelector"] = {}
        if key:
            hook["matchConditions"] = [*policies[0].match_conditions]
        yield hook


def _hook(name: str, client: Body, failure: str, rules: list[Body], webhook: Webhook) -> Body:
    hook: Body = {
        "name": name,
        "clientConfig": client,
        "rules": rules,
        "failurePolicy": failure,
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun",
        "admissionReviewVersions": ["v1"],
    }
    if webhook is Webhook.MUTATING:
        hook["reinvocationPolicy"] = "IfNeeded"
    return hook


def _timeout(policies: Sequence[Policy]) -> int:
    """Return the longest timeout that policies ask for."""
    given = [_TIMEOUT]
    for policy in policies:
        spec = mapping_at(policy.resource.body, "spec")
        own = mapping_at(spec, "webhookConfiguration").get("timeoutSeconds")
        own = own or spec.get("webhookTimeoutSeconds")
        given += [own] if isinstance(own, int) else []
    return min(max(given), _LONGEST)


def _of_cel_policies(
    asked: Sequence[RunnablePolicy], webhook: Webhook, endpoint: Endpoint, scope: Scope
) -> Iterator[Body]:
    for path, (kind, of_path) in CEL_PATHS.items():
        if of_path is not webhook:
            continue
        for prefix in ("", NAMESPACED):
            own = [
                each
                for each in asked
                if isinstance(each, CompiledCelPolicy) and each.policy.kind_name == prefix + kind
            ]
            root = f"/{'n' if prefix else ''}{path}"
            base = f"{root.strip('/').partition('/')[0]}.{_FIRST[webhook]}.{_DOMAIN}"
            yield from _of_kind(own, root, base, webhook, endpoint, scope)


def _of_kind(
    policies: Sequence[CompiledCelPolicy],
    root: str,
    base: str,
    webhook: Webhook,
    endpoint: Endpoint,
    scope: Scope,
) -> Iterator[Body]:
    shared: dict[tuple[str, str], list[CompiledCelPolicy]] = {}
    for each in policies:
        if _is_fine_grained(each.policy):
            yield _fine_grained(each, root, base, webhook, endpoint, scope)
        else:
            selectors = json.dumps(_selectors(each.policy, scope), sort_keys=True)
            shared.setdefault((failure_policy(each), selectors), []).append(each)
    for (failure, selectors), group in shared.items():
        name = f"{base}-{failure.lower()}"
        if len(shared) > 1:
            name += f"-{hashlib.sha256(selectors.encode()).hexdigest()[:8]}"
        path = "/".join((root, *sorted({each.policy.name for each in group})))
        rules = cel_rules(form for each in group for form in forms_of(each))
        hook = _hook(name, endpoint.client_config(path), failure, rules, webhook)
        yield {**hook, "timeoutSeconds": _TIMEOUT, **json.loads(selectors)}


def _is_fine_grained(policy: CelPolicy) -> bool:
    constraints = mapping_at(policy.spec, "matchConstraints")
    return bool(
        policy.conditions
        or constraints.get("matchPolicy") == "Exact"
        or mapping_at(policy.spec, "webhookConfiguration").get("timeoutSeconds")
    )


def _fine_grained(
    compiled: CompiledCelPolicy,
    root: str,
    base: str,
    webhook: Webhook,
    endpoint: Endpoint,
    scope: Scope,
) -> Body:
    policy, forms = compiled.policy, forms_of(compiled)
    failure = failure_policy(compiled)
    place = f"{policy.namespace}-" if policy.namespace else ""
    name = f"{base}-{failure.lower()}-{FINE_GRAINED}-{place}{policy.name}"
    client = endpoint.client_config(f"{root}/{policy.name}")
    hook = _hook(name, client, failure, cel_rules(forms), webhook)
    constraints = mapping_at(policy.spec, "matchConstraints")
    given = mapping_at(policy.spec, "webhookConfiguration").get("timeoutSeconds")
    if constraints.get("matchPolicy") == "Exact":
        hook["matchPolicy"] = "Exact"
    if conditions := match_conditions(forms):
        hook["matchConditions"] = conditions
    seconds = given if isinstance(given, int) else _TIMEOUT
    return {**hook, "timeoutSeconds": min(seconds, _LONGEST), **_selectors(policy, scope)}


def _selectors(policy: CelPolicy, scope: Scope) -> Body:
    """Return the selectors of a policy's webhook: its own, and the namespaces that are excluded."""
    namespaces, objects = selectors_of(policy)
    return {
        "namespaceSelector": _both(namespaces, scope.namespaces),
        "objectSelector": objects,
    }


def _both(one: Body, other: Body) -> Body:
    labels = {**mapping_at(one, "matchLabels"), **mapping_at(other, "matchLabels")}
    key = "matchExpressions"
    expressions = [*(one.get(key) or ()), *(other.get(key) or ())]
    found: Body = {"matchLabels": labels} if labels else {}
    return {**found, key: expressions} if expressions else found
