"""PolicyExceptions made of findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from chartkit.errors import InputError
from chartkit.model import Body, Diagnostic, Resource, RuleResult, Severity, Status
from chartkit.report.model import resource_id
from chartkit.scan.gate.exceptions import Exceptions, exception_of
from chartkit.scan.gate.suppressions import Suppression
from chartkit.scan.gate.violation import written_rule
from chartkit.scan.requests import Requests
from chartkit.scan.run import run_scan

_RULE = "finding"


def of_findings(requests: Requests, reason: str, until: date, namespace: str) -> Exceptions:
    """Return an exception for each object, policy and rule that fails; until: the last day on which
    they hold; namespace: of the exceptions."""
    by_id = {each.policy.id: each for each in requests.policies.policies}
    bodies: dict[str, Body] = {}
    without: dict[str, Diagnostic] = {}

    def take(resource: Resource, results: Sequence[RuleResult]) -> None:
        for result in results:
            if result.status is not Status.FAIL or result.policy_id not in by_id:
                continue
            policy, rule = by_id[result.policy_id], written_rule(result.rule)
            suppression = Suppression(result.policy, rule, reason, until, resource.location)
            body = exception_of(resource, suppression, policy, namespace)
            if body is None:
                message = (
                    f"no exception is written for {resource_id(resource)}: {result.policy} is "
                )
                message += "not Kyverno's"
                hint = "the API server runs it: narrow its binding"
                location = resource.location
                without[message] = Diagnostic(_RULE, Severity.WARNING, message, location, hint)
            else:
                bodies[body["metadata"]["name"]] = body

    context = requests.context(requests.world())
    run_scan(requests.policies.policies, requests.objects, take, context)
    return Exceptions(tuple(bodies.values()), tuple(without.values()))


def annotated(bodies: Sequence[Body], annotations: Sequence[str]) -> Iterator[Body]:
    """Yield exceptions with further annotations (`NAME=VALUE`); raise InputError."""
    given: dict[str, str] = {}
    for annotation in annotations:
        name, equals, value = annotation.partition("=")
        if not equals or not name:
            raise InputError(f"'{annotation}' is not an annotation", hint="write NAME=VALUE")
        given[name] = value
    for body in bodies:
        metadata = body["metadata"]
        known = {**metadata.get("annotations", {}), **given}
        yield {**body, "metadata": {**metadata, "annotations": known}}
