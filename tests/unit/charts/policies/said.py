"""What rendered policies say of requests, and what the engine sees in them beside."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.kubernetes.kinds import is_binding
from chartkit.engine.policies import RunnablePolicy, evaluate, is_policy
from chartkit.model import Body, Location, Resource, RuleResult
from chartkit.report import PolicyFacts
from chartkit.scan.policies import compile_all
from tests.unit.charts.policies.matrix_requests import NAMESPACES, REQUESTS


@dataclass(frozen=True, slots=True)
class Said:
    """results: what is said of each request, with action, severity and category as reports have
    them; settings: what the engine reads of how a policy is run."""

    results: frozenset[str]
    settings: frozenset[str]

    def __or__(self, other: Said) -> Said:
        return Said(self.results | other.results, self.settings | other.settings)


def said(bodies: Iterable[Body], name: str) -> Said:
    """What a policy says, and those that the chart makes of it beside it (`NAME-…`)."""
    whole = Said(frozenset(), frozenset())
    found = [Resource(body, Location("rendered")) for body in bodies]
    for policy in filter(is_policy, found):
        if policy.name == name or policy.name.startswith(f"{name}-"):
            bound = [
                each.body
                for each in found
                if is_binding(each) and each.body["spec"]["policyName"] == policy.name
            ]
            whole |= _said(json.dumps([policy.body, *bound]))
    return whole


@cache
def _said(text: str) -> Said:
    """text: a policy and its bindings, in JSON; equal ones are compiled and asked once."""
    found = [Resource(body, Location("rendered")) for body in json.loads(text)]
    compiled = compile_all(found)
    assert not compiled.diagnostics, compiled.diagnostics
    (policy,) = compiled.policies
    facts = compiled.facts(NAMESPACES)[policy.policy.id]
    results = {
        f"{name}: {_reported(result, facts, request.resource.namespace)}"
        for name, request in REQUESTS.items()
        for result in evaluate([policy], request)
    }
    return Said(frozenset(results), frozenset(_settings(policy)))


def _reported(result: RuleResult, facts: PolicyFacts, namespace: str) -> str:
    action = facts.action(result.rule, namespace)
    parts = (result.policy, result.rule, result.status, result.message, dict(result.properties))
    return str((*parts, action, facts.severity, facts.category, facts.scored))


def _settings(compiled: RunnablePolicy) -> Iterable[str]:
    policy = compiled.policy
    yield f"{policy.key} background: {policy.background}, admission: {policy.admission}"
    if isinstance(policy, Policy):
        for rule in policy.rules:
            yield f"{rule.name} skips background requests: {rule.skip_background_requests}"
    else:
        cel = policy
        skips = (cel.spec.get("evaluation") or {}).get("skipBackgroundRequests")
        yield f"{cel.name} skips background requests: {skips}"
        yield f"{cel.name} annotates audits: {[each.name for each in cel.annotations_made]}"
