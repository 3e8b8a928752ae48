"""MutatingAdmissionPolicy: Kubernetes' own, with the bindings that make it apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Struct
from chartkit.engine.cel_policies.admission import (
    SKIPPED,
    AdmissionExpressions,
    AdmissionValidation,
    Binding,
    Expression,
    bindings_of,
)
from chartkit.engine.cel_policies.evaluator import Admission
from chartkit.engine.cel_policies.kinds.admission_validating import UNMET, BoundEvaluator
from chartkit.engine.cel_policies.kinds.mutating import OBJECT, PATCHES
from chartkit.engine.cel_policies.patches.apply_configuration import apply_configuration
from chartkit.engine.cel_policies.patches.json_patch import apply_json_patch
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import PolicyScope
from chartkit.errors import EvaluationError
from chartkit.model import Body, Resource, RuleResult, RuleType, Status

BINDING = "mapBinding"
"""The property that names the binding."""

_APPLIED = "mutation is successfully applied"


class MutatingAdmissionEvaluator(BoundEvaluator):
    """A compiled MutatingAdmissionPolicy with one of its bindings, or none."""

    type = RuleType.MUTATION
    binding_property = BINDING

    def __init__(
        self,
        policy: CelPolicy,
        expressions: AdmissionExpressions,
        conditions: AdmissionValidation,
        mutations: Sequence[Expression],
        binding: Binding | None,
    ) -> None:
        super().__init__(policy, binding)
        self._expressions = expressions
        self._conditions = conditions
        self._mutations = tuple(mutations)

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """Return the result for the mutated object; an object that cannot be changed is an
        error, because an API server then refuses it (or, if failures are ignored, leaves it as
        it is)."""
        attributes = admission.attributes
        patched = attributes.object
        if patched is None:
            return None
        request = admission.as_served
        applied = False
        try:
            for params in self.params(admission.world, attributes.namespace):
                decision = self._conditions.decide(request, params)
                if decision is SKIPPED:
                    continue
                if decision is not None:
                    return self.result_of_binding(Status.ERROR, decision.message)
                scope = PolicyScope(request, changes=True)
                scope["params"] = params
                patched, applied = self._patch(scope, patched), True
        except (CelError, EvaluationError) as error:
            return self.result_of_binding(Status.ERROR, error.message)
        if not applied:
            return self.result_of_binding(Status.SKIP, UNMET)
        return replace(self.result_of_binding(Status.PASS, _APPLIED), patched=patched)

    def _patch(self, scope: PolicyScope, body: Body) -> Body:
        for mutation in self._mutations:
            scope["object"] = body
            scope["variables"] = self._expressions.variables(scope)
            value = mutation.evaluate(scope)
            if isinstance(value, Struct):
                body = apply_configuration(value, body)
            else:
                body = apply_json_patch(value if isinstance(value, list) else [], body)
        return body


def compile_mutating_admission(
    policy: CelPolicy, found: Sequence[Resource]
) -> tuple[MutatingAdmissionEvaluator, ...]:
    """The evaluators of a policy, one a binding among the objects that were found.

    Raises CompileError for a binding that its schema refuses; an expression that does not compile
    is an error of each request.
    """
    environment = ENVIRONMENTS["map"]
    has_params = bool(policy.spec.get("paramKind"))
    conditions = AdmissionValidation(
        environment,
        conditions=policy.conditions,
        variables=policy.variables,
        has_params=has_params,
        ignores_errors=policy.ignores_errors,
    )
    expressions = AdmissionExpressions(environment, policy.variables, has_params)
    mutations = [
        expressions.compile(text, (expected,))
        for text, expected in map(_mutation, policy.spec.get("mutations") or ())
    ]
    bindings: tuple[Binding | None, ...] = bindings_of(policy, found) or (None,)
    return tuple(
        MutatingAdmissionEvaluator(policy, expressions, conditions, mutations, binding)
        for binding in bindings
    )


def _mutation(body: Body) -> tuple[str, Type]:
    """The expression of a mutation, and what it must come to."""
    is_patch = body.get("patchType") == "JSONPatch"
    part: Body = body.get("jsonPatch" if is_patch else "applyConfiguration") or {}
    return part.get("expression") or "", PATCHES if is_patch else OBJECT
