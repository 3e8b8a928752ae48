"""PolicyExceptions (kyverno.io/v2, v2beta1): read, and tied to the rules they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from chartkit.engine.cluster_policy.conditions.blocks import Conditions, compile_conditions
from chartkit.engine.cluster_policy.match import Facts, Predicate, bind_exception
from chartkit.engine.cluster_policy.policy import Match, read_match
from chartkit.engine.context.context import Context
from chartkit.engine.kubernetes.definitions import (
    POLICY_RULE,
    check_schema,
    check_served,
    definition_check,
)
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import EvaluationError
from chartkit.model import Body, Diagnostic, Resource, Severity

API_VERSIONS: Final = ("kyverno.io/v2", "kyverno.io/v2beta1")
KINDS: Final = ("PolicyException",)


class Excepted(NamedTuple):
    """One policy that an exception names, and its rules (with wildcards)."""

    policy: str
    rules: tuple[Callable[[str], bool], ...]


class PolicyException(NamedTuple):
    """A compiled PolicyException. key: `namespace/name`; pod_security: the controls that it lifts,
    as written (none: it lifts the whole rule); resource: the document."""

    key: str
    match: Match
    excepted: tuple[Excepted, ...]
    conditions: Conditions | None
    pod_security: tuple[Body, ...]
    resource: Resource

    def names(self, policy: str, rule: str) -> bool:
        """Report whether it names a rule of a policy (`name` or `namespace/name`, no wildcards)."""
        return any(
            entry.policy == policy and any(fits(rule) for fits in entry.rules)
            for entry in self.excepted
        )


def read_exception(resource: Resource) -> PolicyException:
    """Compiles a PolicyException; raises CompileError for one that its schema does not take."""
    check_schema(definition_check("PolicyException"), resource)
    check_served(resource, API_VERSIONS, KINDS)
    spec: Body = resource.body["spec"]
    conditions = spec.get("conditions")
    return PolicyException(
        key=f"{resource.namespace}/{resource.name}" if resource.namespace else resource.name,
        match=read_match(spec["match"]),
        excepted=tuple(
            Excepted(exception["policyName"], tuple(map(compile_wildcard, exception["ruleNames"])))
            for exception in spec["exceptions"]
        ),
        conditions=compile_conditions(conditions) if conditions is not None else None,
        pod_security=tuple(spec.get("podSecurity") or ()),
        resource=resource,
    )


def refused_exceptions(exceptions: Sequence[PolicyException], policy: str) -> Iterator[Diagnostic]:
    """Yield a warning for each fault of an exception from a policy for which Kyverno's webhook
    refuses it (`PolicyExceptionSpec.Validate`); its command-line program takes it."""
    from chartkit.engine.cluster_policy.podsecurity.rule import control_faults

    for exception in exceptions:
        if not any(entry.policy == policy for entry in exception.excepted):
            continue
        spec: Body = exception.resource.body["spec"]
        faults: list[str] = []
        for name, filters in spec["match"].items() if spec.get("background") is not False else ():
            for index, part in enumerate(filters or ()):
                faults += [
                    f"spec.match.{name}[{index}].{user}: Forbidden: Usage of user info is forbidden"
                    for user in ("roles", "clusterRoles", "subjects")
                    if part.get(user)
                ]
        for index, control in enumerate(exception.pod_security):
            faults += control_faults(control, f"spec.podSecurity[{index}]")
        for fault in faults:
            text, location = f"exception {exception.key}: {fault}", exception.resource.location
            yield Diagnostic(POLICY_RULE, Severity.WARNING, text, location)


@dataclass(frozen=True, slots=True)
class BoundException:
    """An exception that may apply to a rule and a kind of object."""

    exception: PolicyException
    predicate: Predicate

    def applies(self, facts: Facts, context: Context) -> bool:
        """Report whether it lifts the rule; a condition that cannot be decided leaves the rule
        alone."""
        if not self.predicate(facts):
            return False
        conditions = self.exception.conditions
        if conditions is None:
            return True
        try:
            return conditions.evaluate(context).holds
        except EvaluationError:
            return False


def bind_exceptions(
    exceptions: Sequence[PolicyException], policy: str, rule: str, kind: GroupVersionKind, sub: str
) -> tuple[BoundException, ...]:
    """The exceptions that name a rule and may fit objects of a kind."""
    bound = []
    for exception in exceptions:
        if exception.names(policy, rule):
            predicate = bind_exception(exception.match, kind, sub)
            if predicate is not None:
                bound.append(BoundException(exception, predicate))
    return tuple(bound)
