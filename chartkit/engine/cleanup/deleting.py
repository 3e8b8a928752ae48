"""DeletingPolicy: which objects it deletes when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.cel.cluster_host import ClusterHost
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.interpreter.program import observed
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.checks import cluster_refusals
from chartkit.engine.cel_policies.constraints import Constraints, of_any_operation
from chartkit.engine.cel_policies.evaluator import (
    Admission,
    Evaluator,
    admission,
    namespace_value,
    new_host,
)
from chartkit.engine.cel_policies.exceptions import CelException, exceptions_of
from chartkit.engine.cel_policies.expressions import ExpressionCompiler, holds
from chartkit.engine.cel_policies.policy import (
    CelPolicy,
    field_at,
    named_expressions,
    read_cel_policy,
)
from chartkit.engine.cel_policies.scope import Attributes, PolicyScope, Variables
from chartkit.engine.kubernetes.definitions import CLEANUP_RULE
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Request
from chartkit.engine.scalars.cron import CronExpression
from chartkit.engine.why import RuleDecision
from chartkit.errors import ChartkitError
from chartkit.go.strconv import quote
from chartkit.model import Diagnostic, Resource, RuleResult, RuleType, Severity, Status

_MATCHED: Final = "resource matched"
_UNMATCHED: Final = "resource did not match"


class DeletingPolicy(Evaluator):
    """A compiled DeletingPolicy, with the fields of a cleanup policy.

    schedule: None where it cannot be read, and then it never runs; propagation: what becomes of
    the objects that a deleted one owns; diagnostics: why a cluster would not take the policy.
    """

    type = RuleType.CLEANUP

    def __init__(self, policy: CelPolicy, exceptions: Sequence[CelException] = ()) -> None:
        """Raises CompileError where an expression does not compile."""
        super().__init__(policy)
        if policy.constraints is not None:
            constraints = of_any_operation(policy.constraints)
            self._constraints = Constraints(constraints, selects_nothing=False)
        compiler = ExpressionCompiler(policy)
        self._variables = compiler.variables(policy.variables)
        conditions = named_expressions(policy.spec.get("conditions"))
        self._conditions = compiler.conditions(conditions, "spec.conditions")
        self._excepting = exceptions_of(policy, exceptions)
        self._exceptions = [
            compiler.conditions(exception.conditions) for exception in self._excepting
        ]
        self.propagation: str = policy.spec.get("deletionPropagationPolicy") or ""
        self.schedule, problems = _schedule(policy)
        self.diagnostics: tuple[Diagnostic, ...] = (*problems, *cluster_refusals(policy))

    @property
    def key(self) -> str:
        """The name in results: `name`, or `namespace/name`."""
        return self.policy.key

    @property
    def name(self) -> str:
        """The policy's own name."""
        return self.policy.name

    @property
    def resource(self) -> Resource:
        """The policy as it was read."""
        return self.policy.resource

    def evaluate(self, request: Request, world: World = OFFLINE) -> RuleResult | None:
        """Report whether it would delete an object: pass for yes, fail for no, nothing if it does
        not match. Never raises because of the policy or the object."""
        return self.run(self._admission(request, world))

    def why(
        self, request: Request, world: World = OFFLINE
    ) -> tuple[RuleResult | None, RuleDecision]:
        """Return what `evaluate` returns, and what decided it."""
        from chartkit.engine.cel_policies.why import form_decision

        admission = self._admission(request, world)
        with observed() as evaluations:
            result = self.run(admission)
        results = [] if result is None else [result]
        return result, form_decision(
            self, admission.attributes, results, evaluations, self._excepting
        )

    def _admission(self, request: Request, world: World) -> Admission:
        if not request.is_json and not request.plural:
            resource = request.resource
            cluster = world.api.cluster(self.policy.name, "")
            request = replace(request, plural=cluster.plural(resource.api_version, resource.kind))
        return admission(Attributes(request), world)

    def speaks_of(self, attributes: Attributes) -> bool:
        """Report whether the match constraints match an object; plain JSON always matches."""
        return attributes.request.is_json or super().speaks_of(attributes)

    def unmatched(self, error: ChartkitError) -> RuleResult:
        return self.result(Status.ERROR, error.message, self.policy.name)

    def host(self, admission: Admission) -> ClusterHost:
        """Return the host of its expressions."""
        return new_host(self.policy, admission.world)

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """Return the policy's only result: an object that matches any exception is not deleted.

        Without a request, expressions that use it or an old object fail.
        """
        host = self.host(admission)
        attributes = admission.attributes
        # The namespace of an object; a Namespace is in itself.
        namespace = admission.scope["namespaceObject"]
        if namespace is not None or not attributes.is_namespace:
            namespace_object: Value = namespace
        else:
            metadata = {"name": attributes.name, "labels": dict(attributes.labels[0])}
            namespace_object = namespace_value({"metadata": metadata})
        scope = PolicyScope(
            {
                "object": admission.scope["object"],
                "namespaceObject": namespace_object,
            }
        )
        scope["variables"] = Variables(self._variables, scope, host)
        try:
            excepted = [holds(rule, scope, host, ignores_errors=False) for rule in self._exceptions]
            deletes = not any(excepted) and holds(
                self._conditions, scope, host, ignores_errors=False
            )
        except CelError as error:
            return self.result(Status.ERROR, error.message, self.policy.name)
        if deletes:
            return self.result(Status.PASS, _MATCHED, self.policy.name)
        return self.result(Status.FAIL, _UNMATCHED, self.policy.name)


def _schedule(policy: CelPolicy) -> tuple[CronExpression | None, tuple[Diagnostic, ...]]:
    text: str = policy.spec.get("schedule") or ""
    try:
        return CronExpression.parse(text), ()
    except ValueError as error:
        problem = (
            f"Invalid value: {quote(text)}: schedule spec in the deletingPolicy is not in proper "
            f"cron format: {error}"
        )
        message = f"spec.schedule: {problem if text else 'Required value: schedule is required'}"
        where = field_at(policy, "spec.schedule")
        return None, (Diagnostic(CLEANUP_RULE, Severity.WARNING, message, where),)


def read_deleting_policy(
    resource: Resource, exceptions: Sequence[CelException] = (), allows_http: bool = False
) -> DeletingPolicy:
    """Compiles a DeletingPolicy or NamespacedDeletingPolicy; raises CompileError for one that its
    schema does not take, or an expression that does not compile.

    allows_http: whether policies of a namespace may call services.
    """
    policy = replace(read_cel_policy(resource), allows_http=allows_http)
    return DeletingPolicy(policy, exceptions)
