"""The findings of ImageValidatingPolicies about images during one request.

Kyverno keeps both for a request and shares them among its policies
(`pkg/cel/libs/imageverify/results.go`, the SDK's `imagedataloader`): whether an image passed a
check of signatures, which is what `required` asks for after all have been judged, and what its
attestations say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel_policies.admission.expressions import AdmissionExpressions
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.model import Body, Json, RuleResult, Status

StatementKey = tuple[str, str, str]
"""An image as it is named, `intoto` or `referrer`, and the type of an attestation."""

_UNCHECKED: Final = "no policy performed a signature or attestation check on it"


@dataclass(frozen=True, slots=True)
class Claim:
    """Images that a policy requires to be verified; reasons: properties that say why attestors did
    not vouch for them; fields: returns the JSON pointers of an image."""

    images: tuple[str, ...]
    reasons: Mapping[str, str]
    fields: Callable[[str], tuple[str, ...]]


@dataclass(slots=True)
class Evidence:
    """For the policies that a cluster asks together.

    verified: whether any check of an image passed, for those that were checked; payloads: what
    verified attestations say; required: by a policy's id, what must have passed.
    """

    verified: dict[str, bool] = field(default_factory=dict)
    payloads: dict[StatementKey, Json] = field(default_factory=dict)
    required: dict[str, Claim] = field(default_factory=dict)

    def record(self, image: str, verified: bool) -> None:
        """Notes how a check ended; one that passed is not undone."""
        self.verified[image] = self.verified.get(image, False) or verified

    def missing(self, images: Sequence[str]) -> tuple[str, str] | None:
        """Return the first image that passed no check, and its fault; None if all passed."""
        for image in images:
            passed = self.verified.get(image)
            if passed is None:
                return image, f"image {image} is not verified: {_UNCHECKED}"
            if not passed:
                return image, f"image {image} failed signature or attestation verification"
        return None


@dataclass(slots=True)
class RequestEvidence:
    """The evidence of one request; policies that a cluster asks in calls of their own share
    nothing."""

    _by_call: dict[str, Evidence] = field(default_factory=dict)

    def of(self, call: str) -> Evidence:
        """The evidence of the policies that are asked in one call."""
        return self._by_call.setdefault(call, Evidence())

    def settled(self, result: RuleResult) -> RuleResult:
        """A result after all policies were judged: what passed fails where an image that the
        policy requires to be verified was not, by any of them."""
        if result.status is not Status.PASS:
            return result
        for evidence in self._by_call.values():
            claim = evidence.required.get(result.policy_id)
            problem = None if claim is None else evidence.missing(claim.images)
            if claim is not None and problem is not None:
                image, message = problem
                return replace(
                    result,
                    status=Status.FAIL,
                    message=message,
                    properties={**claim.reasons, **result.properties},
                    fields=claim.fields(image),
                )
        return result


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
