"""The answers of policies to a request, with their reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chartkit.engine.policies import RunnablePolicy
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Phase, Request, Run
from chartkit.model import Resource, RuleResult

if TYPE_CHECKING:
    from chartkit.engine.cel_policies.policy import CelPolicy
    from chartkit.engine.why import RuleDecision


@dataclass(frozen=True, slots=True)
class PolicyResponse:
    """The results of one policy for a request in one phase.

    resource, patched: the object as the policy's first rule saw it and as its last rule left it;
    results: the results of the rules that match, in order; form: of a CEL policy the one that was
    evaluated, the policy itself or one made of it for pod controllers.
    """

    policy: RunnablePolicy
    phase: Phase
    resource: Resource
    patched: Resource
    results: tuple[RuleResult, ...]
    form: CelPolicy | None = None


def respond(
    policies: Sequence[RunnablePolicy], request: Request, world: World = OFFLINE
) -> list[PolicyResponse]:
    """The same results by phase, policy and form; a policy of which no rule matches has none."""
    run = Run(request, world)
    responses = []
    for phase in Phase:
        for policy in policies:
            if phase not in policy.phases:
                continue
            before = run.request.resource
            for form, results in policy.run_forms(run, phase):
                after = run.request.resource
                responses.append(PolicyResponse(policy, phase, before, after, tuple(results), form))
                before = after
    return [replace(answer, results=tuple(run.settled(answer.results))) for answer in responses]


def explain(
    policies: Sequence[RunnablePolicy], request: Request, world: World = OFFLINE
) -> tuple[list[RuleDecision], list[RuleResult]]:
    """Return for each rule of each policy what decided, and the results that `evaluate` returns.

    They are in the order of an admission. A policy that runs in several phases appears once for
    each.
    """
    results: list[RuleResult] = []
    decisions: list[RuleDecision] = []
    run = Run(request, world)
    for phase in Phase:
        for policy in policies:
            if phase in policy.phases:
                decisions += policy.why_phase(run, phase, results)
    settled = run.settled(results)
    for before, now in zip(results, settled, strict=True):
        for index, decision in enumerate(decisions if now is not before else ()):
            if decision.is_about(before):
                decisions[index] = replace(decision, status=now.status, message=now.message)
    return decisions, settled
