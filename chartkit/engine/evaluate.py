"""Runs compiled policies on one request, in admission order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.compile import CompiledPolicy
from chartkit.engine.context import Context, admission_context
from chartkit.engine.int64 import mark_literals
from chartkit.engine.kinds import kind_of
from chartkit.engine.lookups import OFFLINE, Lookups
from chartkit.engine.match import Facts
from chartkit.engine.phase import Phase
from chartkit.engine.request import Operation, Request, User
from chartkit.model import Body, Json, Resource, RuleResult, Status


@dataclass(frozen=True, slots=True)
class PolicyResponse:
    """What one policy says of a request in one phase.

    resource, patched: the object as the policy's first rule saw it and as its last rule left it;
    results: those of the rules that match, in order.
    """

    policy: CompiledPolicy
    phase: Phase
    resource: Resource
    patched: Resource
    results: tuple[RuleResult, ...]


def evaluate(
    policies: Sequence[CompiledPolicy], request: Request, lookups: Lookups = OFFLINE
) -> list[RuleResult]:
    """What every rule that matches says: mutation first, then images, validation, generation.

    Never raises for what a policy or a resource holds: that becomes `Status.ERROR` of the rule.
    A failure of a policy that is not scored is a warning.
    """
    results: list[RuleResult] = []
    run = _Run(request, lookups)
    for phase in Phase:
        for policy in policies:
            if phase in policy.phases:
                run.policy(policy, phase, results)
    return results


def respond(
    policies: Sequence[CompiledPolicy], request: Request, lookups: Lookups = OFFLINE
) -> list[PolicyResponse]:
    """As `evaluate`, by phase and policy; a policy of which no rule matches has no results."""
    responses: list[PolicyResponse] = []
    run = _Run(request, lookups)
    for phase in Phase:
        for policy in policies:
            if phase in policy.phases:
                results: list[RuleResult] = []
                before = run.request.resource
                run.policy(policy, phase, results)
                after = run.request.resource
                responses.append(PolicyResponse(policy, phase, before, after, tuple(results)))
    return responses


class _Run:
    """One request on its way through the phases."""

    __slots__ = ("_base", "_facts", "kind", "lookups", "request")

    def __init__(self, request: Request, lookups: Lookups) -> None:
        self.lookups = lookups
        self.kind = request.kind or kind_of(request.resource)
        self._take(request)

    def _take(self, request: Request) -> None:
        self.request = request
        self._facts = Facts(request)
        self._base = context_of(request, self.lookups)

    def policy(self, policy: CompiledPolicy, phase: Phase, results: list[RuleResult]) -> None:
        """Runs a policy's rules of a phase; an object that a rule patched goes on to the next."""
        rules = policy.rules_for(self.kind, self.request.subresource, phase)
        # A mutation that failed leaves nothing behind that could match.
        if not rules or not self.request.resource.body:
            return
        request, facts, base = self._seen_by(policy)
        for rule in rules:
            if not rule.matches(facts):
                continue
            result = rule.run(base, request, facts)
            if result is None:
                continue
            if result.status is Status.FAIL and not policy.scored:
                result = replace(result, status=Status.WARN)
            results.append(result)
            if result.others:
                results[-1:] = (replace(result, others=()), *result.others)
            if result.patched is not None:
                # Kyverno reads it anew, and whole numbers become int64.
                body = mark_literals(result.patched)
                resource = Resource(body, request.resource.location)
                self._take(replace(self.request, resource=resource))
                if not result.patched:
                    break
                request, facts, base = self._seen_by(policy)
            if policy.policy.apply_one and result.status in _APPLIED[phase]:
                break

    def _seen_by(self, policy: CompiledPolicy) -> tuple[Request, Facts, Context]:
        """The request as a policy sees it: values that the user gave may change the object."""
        variables = self.request.variables.get(policy.policy.name)
        if not variables:
            return self.request, self._facts, self._base
        request, facts, base = self._operated(variables.get(_OPERATION))
        base = base.child()
        base.add_variables(variables)
        seen = base.data.get("request")
        key = "oldObject" if request.operation is Operation.DELETE else "object"
        body = seen.get(key) if isinstance(seen, dict) else None
        if body is request.resource.body or not isinstance(body, dict):
            return request, facts, base
        resource = Resource(body, request.resource.location)
        request = replace(request, resource=resource)
        return request, Facts(request), base

    def _operated(self, given: Json) -> tuple[Request, Facts, Context]:
        """The request with the operation that the user gave for a policy, where there is one."""
        request = self.request
        # Kyverno's programs match all but these two as CREATE.
        operation = Operation(given) if given in _MATCHED else Operation.CREATE
        if given is None or operation is request.operation:
            return request, self._facts, self._base
        old = (request.old or request.resource) if operation is Operation.UPDATE else None
        request = replace(request, operation=operation, old=old)
        return request, Facts(request), context_of(request, self.lookups)


_OPERATION: Final = "request.operation"
_MATCHED: Final = (Operation.UPDATE, Operation.DELETE)
_DECIDED: Final = (Status.PASS, Status.FAIL, Status.WARN)
_APPLIED: Final = {
    Phase.MUTATE: _DECIDED,
    Phase.IMAGES: _DECIDED,
    Phase.VALIDATE: _DECIDED,
    Phase.GENERATE: (*_DECIDED, Status.ERROR),
}
"""What counts as applied where a policy applies one rule alone."""


def context_of(request: Request, lookups: Lookups = OFFLINE) -> Context:
    """What expressions see of a request; nothing of it is copied."""
    body = request.resource.body
    deleted = request.operation is Operation.DELETE
    old = body if deleted else request.old.body if request.old is not None else None
    return admission_context(
        None if deleted else body,
        old=old,
        operation=str(request.operation),
        namespace=request.resource.namespace,
        user=_user_info(request.user) if request.user is not None else None,
        lookups=lookups,
    )


def _user_info(user: User) -> Mapping[str, Json]:
    """As Kyverno puts it beside the object: what is empty is not there."""
    info: Body = {}
    if user.name:
        info["username"] = user.name
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = dict(user.extra)
    seen: Body = {"userInfo": info}
    if user.roles:
        seen["roles"] = list(user.roles)
    if user.cluster_roles:
        seen["clusterRoles"] = list(user.cluster_roles)
    return seen
