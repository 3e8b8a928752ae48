"""The ImageValidatingPolicies that a cluster asks together about an admission."""

from __future__ import annotations

import json

from chartkit.engine.cel import types
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel_policies.admission.expressions import AdmissionExpressions
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.model import Body


def call_of(policy: CelPolicy) -> str:
    """Return the key of the call in which a cluster asks a policy.

    A policy has a webhook of its own where that has something to say: match conditions that an
    API server knows, a timeout, `matchPolicy: Exact`. All others of a kind share one with those of
    the same selectors (`buildWebhookRules` in `pkg/controllers/webhook/validating.go`). Any JSON
    is judged at once.
    """
    if policy.json:
        return ""
    constraints: Body = policy.spec.get("matchConstraints") or {}
    webhook: Body = policy.spec.get("webhookConfiguration") or {}
    is_exact = constraints.get("matchPolicy") == "Exact"
    if is_exact or webhook.get("timeoutSeconds") is not None or _tells_the_server(policy):
        return policy.id
    selectors = [constraints.get(name) or {} for name in ("namespaceSelector", "objectSelector")]
    return f"{policy.kind_name} {json.dumps(selectors, sort_keys=True)}"


def _tells_the_server(policy: CelPolicy) -> bool:
    """Return whether a policy has match conditions, and none that names what only Kyverno has."""
    if not policy.conditions:
        return False
    server = AdmissionExpressions(ENVIRONMENTS["k8s"], (), has_params=False)
    compiled = [server.compile(one.expression, (types.BOOL,)) for one in policy.conditions]
    return all(one.program is not None for one in compiled)
