"""ValidatingPolicy: the first validation that does not hold, or fails to evaluate, decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.evaluator import (
    EVALUATION,
    Admission,
    Evaluator,
    audit_annotations,
)
from chartkit.engine.cel_policies.exceptions import CelException, Exceptions
from chartkit.engine.cel_policies.expressions import CompiledValidation, ExpressionCompiler, holds
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import PolicyScope, Variables
from chartkit.model import RuleResult, Status

INDEX: Final = "cel.validationIndex"
"""The property that names the validation that decided, counted from 0."""


class ValidatingEvaluator(Evaluator):
    """A compiled ValidatingPolicy."""

    def __init__(self, policy: CelPolicy, exceptions: Sequence[CelException]) -> None:
        """Raises CompileError where an expression does not compile."""
        super().__init__(policy)
        compiler = ExpressionCompiler(policy)
        self._conditions = compiler.conditions(policy.conditions)
        self._variables = compiler.variables(policy.variables)
        self._validations = compiler.validations(policy.validations)
        # Kyverno does not even compile those of a policy that judges any JSON.
        annotations = () if policy.json else policy.annotations_made
        self._annotations = compiler.audit_annotations(annotations)
        self._exceptions = Exceptions(exceptions, compiler)
        self._passed = self.result(Status.PASS, "success")

    def evaluate_admission(self, admission: Admission) -> RuleResult | None:
        """The policy's one result; a skip where a match condition does not hold."""
        policy, host = self.policy, self.host(admission)
        scope = PolicyScope(admission.as_payload if policy.json else admission.scope)
        try:
            allowed = self._exceptions.ask(scope, host, policy.ignores_errors)
            if allowed.full:
                return allowed.result(self)
            scope["exceptions"] = allowed.variable()
            if not holds(self._conditions, scope, host, policy.ignores_errors):
                return self.result(Status.SKIP, "skip")
            scope["variables"] = Variables(self._variables, scope, host)
            for index, validation in enumerate(self._validations):
                try:
                    if validation.program.evaluate(scope, host) is not False:
                        continue
                except CelError as error:
                    return self._failure(index, scope, host, admission.world.wants_fields, error)
                return self._failure(index, scope, host, admission.world.wants_fields)
            if not self._annotations:
                return self._passed
            made = audit_annotations(self._annotations, scope, host)
            return self.result(Status.PASS, "success", properties=made)
        except CelError as error:
            return self.result(Status.ERROR, f"failed to load context: {error.message}", EVALUATION)

    def _failure(
        self,
        index: int,
        scope: Mapping[str, Value],
        host: Host,
        wants_fields: bool,
        error: CelError | None = None,
    ) -> RuleResult:
        """Return the result of a validation that is false, or has no value because of an error."""
        failed = self._validations[index]
        decided = {INDEX: str(index)}
        fields = self._fields(failed, scope, host) if wants_fields else ()
        if error is None:
            message = failure_message(failed, index, scope, host)
            try:
                made = audit_annotations(self._annotations, scope, host)
                return self.result(Status.FAIL, message, "", {**made, **decided, **made}, fields)
            except CelError as of_annotation:
                error, fields = of_annotation, ()
        return self.result(Status.ERROR, f"error: {error.message}", "", decided, fields)

    def _fields(
        self, failed: CompiledValidation, scope: Mapping[str, Value], host: Host
    ) -> tuple[str, ...]:
        """Return the fields over which a validation failed."""
        from chartkit.engine.cel_policies.fields import Matching, fields_of

        matching = Matching(self._conditions, self.policy.constraints)
        return fields_of(failed.program, scope, self._variables, host, matching)


def failure_message(
    failed: CompiledValidation, index: int, scope: Mapping[str, Value], host: Host
) -> str:
    """Return the message of a validation that does not hold: its expression's text, else its
    message, else its index."""
    message = failed.validation.message
    if failed.message_expression is not None:
        try:
            message = str(failed.message_expression.evaluate(scope, host))
        except CelError as error:
            message = f"failed to evaluate message expression: {error.message}"
    return message or f"CEL expression validation failed at index {index}"
