"""The common part of all kinds of CEL policies when they evaluate a request: constraints,
exceptions, conditions, variables and audit annotations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from chartkit.engine.cel.cluster_host import ClusterHost
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.types import TypeKind
from chartkit.engine.cel.values import Value, type_of
from chartkit.engine.cel_policies.attestors import RequestEvidence
from chartkit.engine.cel_policies.constraints import Constraints
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import (
    NOTHING,
    Attributes,
    JsonScope,
    RequestScope,
    identified,
    server_scope,
)
from chartkit.engine.ports.world import World
from chartkit.engine.request import Phase
from chartkit.engine.why import Asked, Decision, elsewhere
from chartkit.errors import ChartkitError
from chartkit.model import Body, FieldPath, Location, RuleResult, RuleType, Status

EVALUATION: Final = "evaluation"
"""The rule that results name where a policy could not be evaluated."""


@dataclass(frozen=True)
class Admission:
    """A request on its way through the policies; scope: the variables that every policy sees;
    evidence: what policies found out about its images."""

    attributes: Attributes
    scope: RequestScope | JsonScope
    world: World
    evidence: RequestEvidence

    @cached_property
    def as_served(self) -> RequestScope:
        """The variables that Kubernetes' own policies see; a request always has a user."""
        return server_scope(self.attributes, identified(self.attributes.request.user))

    @cached_property
    def as_payload(self) -> RequestScope | JsonScope:
        """The variables that policies for any JSON see: the object, whatever is done with it."""
        if isinstance(self.scope, JsonScope):
            return self.scope
        scope = RequestScope(self.attributes, None)
        scope.update(object=self.attributes.request.resource.body, oldObject=None, request=None)
        return scope


def admission(
    attributes: Attributes,
    world: World,
    evidence: RequestEvidence | None = None,
    absent: Body | None = NOTHING,
) -> Admission:
    """A request as CEL policies see it; what it asks of the cluster goes to the world.

    evidence: of the same request before it was changed; absent: the value of an object that does
    not exist.
    """
    request_evidence = RequestEvidence() if evidence is None else evidence
    if attributes.request.is_json:
        return Admission(attributes, JsonScope(attributes), world, request_evidence)
    namespace, labels = attributes.request.namespace, attributes.namespace_labels
    if namespace is None and labels:
        metadata = {"name": attributes.namespace, "labels": dict(labels)}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    namespace_object = None if namespace is None else namespace_value(namespace)
    scope = RequestScope(attributes, namespace_object, absent)
    return Admission(attributes, scope, world, request_evidence)


def new_host(policy: CelPolicy, world: World) -> ClusterHost:
    """Return the host of a policy's expressions, with nothing generated yet."""
    return ClusterHost(world, policy.name, namespace=policy.namespace, may_call=policy.may_call)


def namespace_value(namespace: Body) -> Body:
    """A Namespace as Go has it: with a specification and a status, even if they are empty."""
    return {**namespace, **{key: namespace.get(key) or {} for key in ("spec", "status")}}


class Evaluator:
    """A compiled policy, or one form of it for pod controllers; the kinds are subclasses."""

    type: RuleType = RuleType.VALIDATION
    phase: Phase | None = None
    """The phase, for a kind with two; None: the phase of its kind."""

    def __init__(self, policy: CelPolicy) -> None:
        self.policy = policy
        constraints = policy.constraints
        self._constraints = None if constraints is None else Constraints(constraints)
        self._host: tuple[World, ClusterHost] | None = None
        self.locations: dict[tuple[FieldPath, str, int], Location] = {}
        """Those that decisions have named, by path, text and offset of an expression."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The effects of a failure: `Deny`, `Audit`, `Warn`; none: the default of the kind."""
        return self.policy.actions

    def speaks_of(self, attributes: Attributes) -> bool:
        """Report whether the match constraints match a request; without any, none matches. A policy
        of a namespace speaks of what is in it."""
        if self.policy.namespace not in ("", attributes.namespace):
            return False
        return self._constraints is not None and self._constraints.match(attributes)

    def why_match(self, attributes: Attributes) -> Decision:
        """Return the decision of `speaks_of`."""
        from chartkit.engine.cel_policies.match_reasons import match_decision

        policy = self.policy
        location = policy.resource.location
        if decision := elsewhere(location, policy.namespace, attributes.namespace):
            return decision
        if self._constraints is None:
            where = location.within("/spec")
            return Decision(Asked.MATCH, False, "the policy has no matchConstraints", where)
        return match_decision(self._constraints, attributes, location, "matchConstraints")

    def concerns(self, attributes: Attributes) -> bool:
        """Report whether it may say anything of requests of a kind (`kind_key`); false only where
        it says nothing of any."""
        constraints = self._constraints
        return self.policy.json or constraints is None or constraints.concern(attributes)

    def run(self, admission: Admission) -> RuleResult | None:
        """Return the policy's result for a request; None if there is none. Never raises because of
        the policy or the object."""
        try:
            if not self.policy.json and not self.speaks_of(admission.attributes):
                return None
        except ChartkitError as error:
            return self.unmatched(error)
        return self.evaluate_admission(admission)

    def unmatched(self, error: ChartkitError) -> RuleResult:
        """Return the result for a request that the match constraints could not be asked about."""
        text = f"failed to execute matching: {error.message}"
        return self.result(Status.ERROR, text, rule="match")

    def host(self, admission: Admission) -> ClusterHost:
        """Return the host of the policy's expressions; kept as long as the world stays the same."""
        cached = self._host
        if cached is not None and cached[0] is admission.world:
            return cached[1]
        host = new_host(self.policy, admission.world)
        self._host = (admission.world, host)
        return host

    @abstractmethod
    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """Return the policy's result for a request that it matches."""

    def result(
        self,
        status: Status,
        message: str,
        rule: str = "",
        properties: Mapping[str, str] | None = None,
        fields: tuple[str, ...] = (),
    ) -> RuleResult:
        """A result of this policy; fields: of the object, over which it failed."""
        policy = self.policy
        return RuleResult(
            policy.key,
            rule,
            self.type,
            status,
            message,
            properties=properties or {},
            kind=policy.kind_name,
            fields=fields,
        )


def audit_annotations(
    programs: Mapping[str, Program],
    scope: Mapping[str, Value],
    host: Host,
    quoted: Callable[[str], str] = "'{}'".format,
) -> dict[str, str]:
    """The annotations that have a text; raises CelError for one that fails to evaluate, and for
    one that is null, as Kyverno does.

    quoted: how its message shows the name of the annotation, which differs by kind.
    """
    made: dict[str, str] = {}
    for key, program in programs.items():
        try:
            text = program.evaluate(scope, host)
        except CelError as error:
            raise CelError(
                f"failed to evaluate auditAnnotation {quoted(key)}: {error.message}"
            ) from error
        if not isinstance(text, str):
            kind = type_of(text)
            name = "null_type" if kind.kind is TypeKind.NULL else kind.name
            raise CelError(
                f"failed to convert auditAnnotation {quoted(key)} expression: "
                f"type conversion error from '{name}' to 'string'"
            )
        if text:
            made[key] = text
    return made
