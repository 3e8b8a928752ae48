"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: Kubernetes' own, with their bindings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Struct
from chartkit.engine.cel_policies.admission import (
    SKIPPED,
    AdmissionValidation,
    Binding,
    Expression,
    bindings_of,
)
from chartkit.engine.cel_policies.constraints import Constraints, of_bound_policy
from chartkit.engine.cel_policies.evaluator import Admission, Evaluator
from chartkit.engine.cel_policies.expressions import environment_of
from chartkit.engine.cel_policies.kinds.mutating import OBJECT, PATCHES
from chartkit.engine.cel_policies.match_reasons import match_decision
from chartkit.engine.cel_policies.patches.apply_configuration import apply_configuration
from chartkit.engine.cel_policies.patches.json_patch import apply_json_patch
from chartkit.engine.cel_policies.patches.written import Written
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import Attributes, PolicyScope
from chartkit.engine.ports.world import World
from chartkit.engine.why import Asked, Decision
from chartkit.errors import EvaluationError, Reraise
from chartkit.model import Body, Resource, RuleResult, RuleType, Status

UNMET = "match conditions aren't met"


class BoundEvaluator(Evaluator):
    """A policy of Kubernetes' own with one of its bindings; without any, as if one bound it
    everywhere, which is how a policy is tried before it is bound."""

    binding_property = "binding"
    """The property of results that names the binding."""

    def __init__(self, policy: CelPolicy, binding: Binding | None) -> None:
        super().__init__(policy)
        if policy.constraints is not None:
            constraints = (
                policy.constraints if binding is None else of_bound_policy(policy.constraints)
            )
            self._constraints = Constraints(constraints, selects_nothing=False)
        self._binding = binding

    @property
    def actions(self) -> tuple[str, ...]:
        return self._binding.actions if self._binding is not None else ()

    def speaks_of(self, attributes: Attributes) -> bool:
        """Report whether both the policy and its binding match a request."""
        if not super().speaks_of(attributes):
            return False
        narrowed = self._binding.constraints if self._binding is not None else None
        return narrowed is None or narrowed.match(attributes)

    def why_match(self, attributes: Attributes) -> Decision:
        decision = super().why_match(attributes)
        binding = self._binding
        if decision.asked is not Asked.MATCH or not decision.holds:
            return decision
        if binding is None or binding.constraints is None:
            return decision
        constraints, location = binding.constraints, binding.location
        bound = match_decision(constraints, attributes, location, "matchResources")
        if bound.asked is Asked.MATCH and bound.holds:
            return decision
        text = f"binding {binding.name}: {bound.text}"
        holds = None if bound.holds is None else False
        return replace(bound, asked=Asked.BINDING, holds=holds, text=text)

    @property
    def binding(self) -> str:
        """Return the name of the binding; empty for none."""
        return "" if self._binding is None else self._binding.name

    def params(self, world: World, namespace: str) -> Iterator[Body | None]:
        """The parameters of a request in a namespace, each evaluated separately; None where it has
        none. Raises EvaluationError where the reference cannot be used."""
        reference = self._binding.params if self._binding is not None else None
        if reference is None:
            yield None
            return
        with Reraise("error in parameterized resource: ", EvaluationError):
            parameters = reference.find(namespace, world.api.cluster(self.policy.name, ""))
        if not parameters and not reference.allows_none:
            raise EvaluationError(_NO_PARAMETERS)
        yield from parameters

    def result_of_binding(
        self, status: Status, message: str, fields: tuple[str, ...] = ()
    ) -> RuleResult:
        named = {} if self._binding is None else {self.binding_property: self._binding.name}
        return self.result(status, message, self.policy.name, named, fields)


class ValidatingAdmissionEvaluator(BoundEvaluator):
    """A compiled ValidatingAdmissionPolicy with one of its bindings, or none."""

    def __init__(
        self, policy: CelPolicy, validation: AdmissionValidation, binding: Binding | None
    ) -> None:
        super().__init__(policy, binding)
        self._validation = validation
        self._passed = self.result_of_binding(Status.PASS, "")
        self._skipped = self.result_of_binding(Status.SKIP, UNMET)

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """The first parameter that refuses the request decides; nothing where there is none and
        the binding admits that."""
        attributes = admission.attributes
        scope, wants_fields = admission.as_served, admission.world.wants_fields
        result: RuleResult | None = None
        try:
            for params in self.params(admission.world, attributes.namespace):
                decision = self._validation.decide(scope, params, wants_fields=wants_fields)
                if decision is None:
                    result = self._passed
                elif decision is SKIPPED:
                    result = self._skipped
                else:
                    status = Status.ERROR if decision.is_error else Status.FAIL
                    result = self.result_of_binding(status, decision.message, decision.fields)
                if result.status in (Status.FAIL, Status.ERROR):
                    break
        except EvaluationError as error:
            return self.result_of_binding(Status.ERROR, error.message)
        return result


def _compiled(policy: CelPolicy) -> AdmissionValidation:
    """The expressions of both kinds; one that does not compile is an error of each request."""
    return AdmissionValidation(
        environment_of(policy),
        conditions=policy.conditions,
        variables=policy.variables,
        validations=policy.validations,
        constraints=policy.constraints,
        has_params=bool(policy.spec.get("paramKind")),
        ignores_errors=policy.ignores_errors,
    )


def compile_validating_admission(
    policy: CelPolicy, resources: Sequence[Resource]
) -> tuple[ValidatingAdmissionEvaluator, ...]:
    """The evaluators of a policy, one a binding among the objects that were found.

    Raises CompileError for a binding that its schema refuses.
    """
    validation = _compiled(policy)
    bindings: tuple[Binding | None, ...] = bindings_of(policy, resources) or (None,)
    return tuple(ValidatingAdmissionEvaluator(policy, validation, binding) for binding in bindings)


BINDING = "mapBinding"
"""The property that names the binding."""

_APPLIED = "mutation is successfully applied"
_NO_PARAMETERS = (
    "failed to configure binding: no params found for policy binding with `Deny` "
    "parameterNotFoundAction"
)


class MutatingAdmissionEvaluator(BoundEvaluator):
    """A compiled MutatingAdmissionPolicy with one of its bindings, or none."""

    type = RuleType.MUTATION
    binding_property = BINDING

    def __init__(
        self,
        policy: CelPolicy,
        conditions: AdmissionValidation,
        mutations: Sequence[Expression],
        binding: Binding | None,
    ) -> None:
        super().__init__(policy, binding)
        self._conditions = conditions
        self._mutations = tuple(mutations)

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """The result for the mutated object; an object that cannot be changed is an error, because
        an API server then refuses it (or, if failures are ignored, leaves it as it is)."""
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
                body = patched
                for mutation in self._mutations:
                    scope["object"] = body
                    scope["variables"] = self._conditions.expressions.variables(scope)
                    value = mutation.evaluate(scope)
                    if isinstance(value, Struct):
                        assert mutation.program is not None
                        written = Written(mutation.program, self._conditions.expressions.programs)
                        body = apply_configuration(value, body, written)
                    else:
                        body = apply_json_patch(value if isinstance(value, list) else [], body)
                patched, applied = body, True
        except (CelError, EvaluationError) as error:
            return self.result_of_binding(Status.ERROR, error.message)
        if not applied:
            return self.result_of_binding(Status.SKIP, UNMET)
        return replace(self.result_of_binding(Status.PASS, _APPLIED), patched=patched)


def compile_mutating_admission(
    policy: CelPolicy, resources: Sequence[Resource]
) -> tuple[MutatingAdmissionEvaluator, ...]:
    """The evaluators of a policy, one a binding among the objects that were found.

    Raises CompileError for a binding that its schema refuses.
    """
    conditions = _compiled(policy)
    mutations = [
        conditions.expressions.compile(text, (expected,))
        for text, expected in map(_mutation, policy.spec.get("mutations") or ())
    ]
    bindings: tuple[Binding | None, ...] = bindings_of(policy, resources) or (None,)
    return tuple(
        MutatingAdmissionEvaluator(policy, conditions, mutations, binding) for binding in bindings
    )


def _mutation(body: Body) -> tuple[str, Type]:
    """The expression of a mutation, and the type that it must have."""
    is_patch = body.get("patchType") == "JSONPatch"
    part: Body = body.get("jsonPatch" if is_patch else "applyConfiguration") or {}
    return part.get("expression") or "", PATCHES if is_patch else OBJECT
