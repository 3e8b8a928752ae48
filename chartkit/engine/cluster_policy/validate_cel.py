"""CEL of a ClusterPolicy: `validate.cel`, and the match conditions of its webhook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.interpreter.program import Evaluation, observed
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
from chartkit.engine.context.recorder import Recorder
from chartkit.engine.request import Request
from chartkit.engine.why import Asked, Decision
from chartkit.errors import EvaluationError, Reraise
from chartkit.model import Body, FieldPath, Location, RuleResult, Status, pointer_of

UNMET = "cel preconditions not met"


def cel_fault(cel: Body) -> str | None:
    """Return what Kyverno's webhook refuses in a `validate.cel`, if anything."""
    kind: Body | None = cel.get("paramKind")
    reference: Body | None = cel.get("paramRef")
    required = {
        "expressions.expression": [row["expression"] for row in cel.get("expressions") or ()]
    }
    if kind is not None:
        required |= {f"paramKind.{key}": [kind.get(key)] for key in ("apiVersion", "kind")}
        required["paramRef"] = [reference is not None]
    if reference is not None:
        required["name"] = [bool(reference.get("name")) != (reference.get("selector") is not None)]
        action = reference.get("parameterNotFoundAction")
        required["paramRef.parameterNotFoundAction"] = [action is not None]
        required["paramKind"] = [kind is not None]
    for key in ("key", "valueExpression"):
        required[f"auditAnnotation.{key}"] = [row[key] for row in cel.get("auditAnnotations") or ()]
    for name, values in required.items():
        if not all(values):
            if name == "name":
                return "one of cel.paramRef.name or cel.paramRef.selector must be set"
            return f"cel.{name} is required"
    return None


def compile_validate_cel(rule: Rule, policy: Policy) -> Handler:
    """The handler of a rule with `validate.cel`; an expression that does not compile fails each
    request, as in a cluster."""
    cel: Body = rule.validate.cel or {}
    validations = tuple(
        replace(written, message=written.message or rule.validate.message)
        for written in read_validations(cel.get("expressions"))
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

    def judge(context: Context, request: Request) -> RuleResult | None:
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
            decision = validation.decide(scope, param, wants_fields=context.world.wants_fields)
            if decision is SKIPPED:
                return skipped
            if decision is not None:
                return replace(
                    skipped, status=Status.FAIL, message=decision.message, fields=decision.fields
                )
        return passed

    def handle(context: Context, request: Request) -> RuleResult | None:
        if context.recorder is None:
            return judge(context, request)
        with observed() as evaluations:
            try:
                return judge(context, request)
            finally:
                _record(context.recorder, rule, request, evaluations)

    return handle


def _record(
    recorder: Recorder, rule: Rule, request: Request, evaluations: Sequence[Evaluation]
) -> None:
    """Record the conditions and expressions that were evaluated; one without value denies."""
    from chartkit.engine.cel_policies.expression_reasons import Expressions, Texts

    def locate(path: FieldPath, _text: str, offset: int) -> Location:
        above = () if path[:1] == (_CONDITIONS,) else ("validate", "cel")
        return recorder.sources.character(offset, *above, *path)

    body = {**(rule.validate.cel or {}), _CONDITIONS: list(rule.cel_preconditions)}
    expressions = Expressions(Texts(body, locate), evaluations, Attributes(request.for_cel()))
    for asking in expressions.asked:
        if asking.list in (_CONDITIONS, "expressions") and asking.path[-1] == "expression":
            decision = expressions.decision(asking)
            recorder.add(replace(decision, holds=decision.holds is True))


def why_unsent(policy: Policy, request: Request, is_sent: Callable[[], bool]) -> Decision | None:
    """Return the match condition of a policy's webhook for which a request is not sent; None if it
    is.

    is_sent: asks the conditions.
    """
    from chartkit.engine.cel_policies.expression_reasons import Expressions, Texts

    with observed() as evaluations:
        if is_sent():
            return None

    def locate(path: FieldPath, _text: str, offset: int) -> Location:
        pointer = pointer_of("spec", "webhookConfiguration", *path)
        return policy.resource.location.character(pointer, offset)

    texts = Texts({"matchConditions": list(policy.match_conditions)}, locate)
    expressions = Expressions(texts, evaluations, Attributes(request.for_cel()))
    refusing = [asked for asked in expressions.asked if asked.evaluation.outcome is not True]
    if refusing:
        return expressions.decision(refusing[-1])
    text = "a matchCondition of the policy's webhook does not compile"
    return Decision(Asked.MATCH_CONDITION, None, text, locate(("matchConditions",), "", 0))


_CONDITIONS: Final = "celPreconditions"


class WebhookConditions:
    """Compiled match conditions: a request of which one is false is not sent."""

    __slots__ = ("_conditions",)

    def __init__(self, conditions: Sequence[Body]) -> None:
        expressions = AdmissionExpressions(ENVIRONMENTS["k8s"], (), has_params=False)
        self._conditions = [
            expressions.compile(body.get("expression") or "", (types.BOOL,)) for body in conditions
        ]

    @property
    def problems(self) -> tuple[str, ...]:
        """Return why conditions do not compile."""
        return tuple(expression.problem for expression in self._conditions if expression.problem)

    def hold(self, attributes: Attributes) -> bool:
        """Report whether all conditions are true; raises EvaluationError if one cannot be evaluated
        and none is false, because an API server rejects the request then."""
        scope = server_scope(attributes)
        scope["namespaceObject"] = None
        if failures := failed(lambda expression: expression.evaluate(scope), self._conditions):
            raise EvaluationError(f"failed to evaluate match conditions: {', '.join(failures)}")
        return failures is not None
