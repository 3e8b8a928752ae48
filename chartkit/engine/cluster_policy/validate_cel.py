"""CEL of a ClusterPolicy: `validate.cel`, and the match conditions of its webhook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chartkit.engine.cel import types
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel_policies.admission import (
    SKIPPED,
    AdmissionExpressions,
    AdmissionValidation,
    read_param_ref,
)
from chartkit.engine.cel_policies.expressions import failed
from chartkit.engine.cel_policies.policy import named_expressions, read_validations
from chartkit.engine.cel_policies.scope import Attributes, server_scope
from chartkit.engine.cluster_policy.handler import Handler
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.request import Request
from chartkit.errors import EvaluationError, Reraise
from chartkit.model import Body, RuleResult, Status

UNMET = "cel preconditions not met"


def compile_validate_cel(rule: Rule, policy: Policy) -> Handler:
    """The handler of a rule with `validate.cel`; an expression that does not compile fails each
    request, as in a cluster."""
    cel: Body = rule.validate.cel or {}
    validations = tuple(
        replace(each, message=each.message or rule.validate.message)
        for each in read_validations(cel.get("expressions"))
    )
    reference = read_param_ref(cel.get("paramKind"), cel.get("paramRef"))
    validation = AdmissionValidation(
        ENVIRONMENTS["vap"],
        conditions=named_expressions(rule.cel_preconditions),
        variables=named_expressions(cel.get("variables")),
        validations=validations,
        has_params=reference is not None,
    )
    skipped = RuleResult(policy.key, rule.name, rule.kind.type, Status.SKIP, UNMET)
    passed = replace(skipped, status=Status.PASS, message=f"Validation rule '{rule.name}' passed.")

    def handle(context: Context, request: Request) -> RuleResult | None:
        attributes = Attributes(request.for_cel())
        scope = server_scope(attributes)
        params: tuple[Body | None, ...] = (None,)
        if reference is not None:
            cluster = context.world.api.cluster(policy.name, rule.name)
            with Reraise("error in parameterized resource: ", EvaluationError):
                params = reference.find(attributes.namespace, cluster)
            if not params and not reference.allows_none:
                raise EvaluationError("error in parameterized resource: no params found")
        for param in params:
            decision = validation.decide(scope, param)
            if decision is SKIPPED:
                return skipped
            if decision is not None:
                return replace(
                    skipped, status=Status.FAIL, message=decision.message, fields=decision.fields
                )
        return passed

    return handle


class WebhookConditions:
    """Compiled match conditions: a request of which one is false is not sent."""

    __slots__ = ("_conditions",)

    def __init__(self, conditions: Sequence[Body]) -> None:
        expressions = AdmissionExpressions(ENVIRONMENTS["k8s"], (), has_params=False)
        self._conditions = [
            expressions.compile(one.get("expression") or "", (types.BOOL,)) for one in conditions
        ]

    @property
    def problems(self) -> tuple[str, ...]:
        """Return why conditions do not compile."""
        return tuple(expression.problem for expression in self._conditions if expression.problem)

    def hold(self, attributes: Attributes) -> bool:
        """Return whether all conditions are true; raises EvaluationError where one cannot be
        evaluated and none is false, for then an API server refuses the request."""
        scope = server_scope(attributes)
        scope["namespaceObject"] = None
        if failures := failed(lambda expression: expression.evaluate(scope), self._conditions):
            raise EvaluationError(f"failed to evaluate match conditions: {', '.join(failures)}")
        return failures is not None
