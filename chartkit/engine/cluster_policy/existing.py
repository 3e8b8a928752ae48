"""Updates of objects that failed before: rules with `allowExistingViolations` skip them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from chartkit.engine.cluster_policy.handler import NO_ELEMENT, Check, Checked
from chartkit.engine.cluster_policy.match import Facts, Predicate, bind_match
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.request import Operation, Request, User
from chartkit.model import Json, Status

_NOBODY: Final = User(
    "kyverno:kyverno-invalid-controller",
    "kyverno:invaliduid",
    ("kyverno:invalidgroup",),
    roles=("kyverno:invalidrole",),
    cluster_roles=("kyverno:invalidrole",),
)
"""The user who is given as the author of the old object: the real one is no longer known."""


_ALLOWED: Final = Checked(
    Status.SKIP, "skipping the rule evaluation as pre-existing violations are allowed"
)


def allow_existing(check: Check, rule: Rule, policy: Policy) -> Check:
    """The check of an enforced rule, so that it skips an update of what failed already."""
    if rule.preconditions is not None:
        # Kyverno fails to read the preconditions here, and takes the old object as not matched.
        return check

    @cache
    def bound(kind: GroupVersionKind) -> Predicate | None:
        return bind_match(rule.match, rule.exclude, policy.namespace, kind, "")

    def checked(context: Context, request: Request, element: Json) -> Checked | None:
        result = check(context, request, element)
        if result is None or result.status is not Status.FAIL or request.old is None:
            return result
        if request.operation is not Operation.UPDATE:
            return result
        before = replace(
            request, resource=request.old, old=None, operation=Operation.CREATE, user=_NOBODY
        )
        matches = bound(kind_of(before.resource))
        if matches is None or not matches(Facts(before)):
            return result
        earlier = context.child()
        earlier.recorder = None
        earlier_request = dict(earlier.data.get("request") or {})
        earlier_request["object"] = before.resource.body
        earlier_request["operation"] = str(before.operation)
        earlier_request["oldObject"] = None
        earlier.set("request", earlier_request)
        prior = check(earlier, before, NO_ELEMENT)
        return _ALLOWED if prior is not None and prior.status is Status.FAIL else result

    return checked
