"""The policies of a server, and the part of the cluster that they know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.serve.admission.review import RoleBindings
from chartkit.engine import ENFORCE, OFFLINE, Request, RunnablePolicy, World
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.kubernetes.kinds import UNKNOWN, CelKind, CustomNames
from chartkit.model import Json, Resource, mapping_at, mappings_at
from chartkit.report.model import PolicyFacts

FAIL: Final = "Fail"
IGNORE: Final = "Ignore"


@dataclass(frozen=True, slots=True)
class Served:
    """Policies and their surroundings, replaced as a whole.

    request: makes the request of an object, with its namespace; world: gives the world that
    policies see, which may have changed since it was last called; roles: of users; filtered:
    whether Kyverno's configuration keeps an object (with the request's subresource) away from its
    policies, None if it keeps none away; facts: of policies for reports, by their ID; names: of the
    custom kinds that are known; notes: what is not carried out.
    """

    policies: tuple[RunnablePolicy, ...]
    request: Callable[[Resource], Request] = Request
    world: Callable[[], World] = lambda: OFFLINE
    roles: RoleBindings = field(default_factory=RoleBindings)
    filtered: Callable[[Resource, str], bool] | None = None
    facts: Mapping[str, PolicyFacts] = field(default_factory=dict)
    names: CustomNames = UNKNOWN
    notes: tuple[str, ...] = ()


def failure_policy(policy: RunnablePolicy) -> str:
    """Return `Fail` or `Ignore`: what an API server does with a request if there is no verdict."""
    own = policy.policy
    if isinstance(own, CelPolicy) and own.kind is CelKind.GENERATING:
        return IGNORE
    spec = mapping_at(own.resource.body, "spec")
    given = mapping_at(spec, "webhookConfiguration").get("failurePolicy")
    return IGNORE if (given or spec.get("failurePolicy")) == IGNORE else FAIL


def enforces(policy: RunnablePolicy) -> bool:
    """Report whether a ClusterPolicy may refuse an object anywhere (`pkg/policycache`)."""
    spec = mapping_at(policy.policy.resource.body, "spec")
    if _has_enforce(spec, "validationFailureAction", "validationFailureActionOverrides"):
        return True
    return any(
        _has_enforce(mapping_at(rule, "validate"), "failureAction", "failureActionOverrides")
        or any(
            _is_enforce(image.get("failureAction")) for image in mappings_at(rule, "verifyImages")
        )
        for rule in mappings_at(spec, "rules")
    )


def _has_enforce(body: Mapping[str, Json], action: str, overrides: str) -> bool:
    listed = mappings_at(dict(body), overrides)
    return _is_enforce(body.get(action)) or any(_is_enforce(one.get("action")) for one in listed)


def _is_enforce(action: Json) -> bool:
    return isinstance(action, str) and action.capitalize() == ENFORCE


def is_cel(policy: RunnablePolicy) -> bool:
    """Report whether a policy is one of policies.kyverno.io."""
    return isinstance(policy.policy, CelPolicy)
