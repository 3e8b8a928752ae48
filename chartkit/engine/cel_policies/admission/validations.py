"""Validations as a ValidatingAdmissionPolicy decides them, for it and for `validate.cel`.

Source: k8s.io/apiserver `pkg/admission/plugin/policy/validating` and `webhook/matchconditions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.admission.expressions import AdmissionExpressions, Expression
from chartkit.engine.cel_policies.conditions import failed
from chartkit.engine.cel_policies.policy import (
    MatchConstraints,
    NamedExpression,
    Validation,
)
from chartkit.engine.cel_policies.scope import PolicyScope
from chartkit.model import Body

_LONGEST_MESSAGE: Final = 5 * 1024
"""Bytes; a longer text of a message expression is passed over."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The reason why a request is not admitted; is_error: because something could not be
    evaluated; fields: JSON pointers of the object's fields that it is about."""

    message: str
    is_error: bool = False
    fields: tuple[str, ...] = ()


SKIPPED: Final = Decision("")
"""The match conditions leave the request alone."""


@dataclass(frozen=True, slots=True)
class _Validation:
    validation: Validation
    expression: Expression
    message: Expression | None


class AdmissionValidation:
    """The compiled match conditions, variables and validations of a policy."""

    __slots__ = ("_conditions", "_constraints", "_expressions", "_ignores_errors", "_validations")

    def __init__(
        self,
        environment: Environment,
        *,
        conditions: Sequence[NamedExpression] = (),
        variables: Sequence[NamedExpression] = (),
        validations: Sequence[Validation] = (),
        constraints: MatchConstraints | None = None,
        has_params: bool = False,
        ignores_errors: bool = False,
    ) -> None:
        self._ignores_errors = ignores_errors
        self._constraints = constraints
        self._expressions = AdmissionExpressions(environment, variables, has_params)
        compile_ = self._expressions.compile
        self._conditions = [compile_(each.expression, (types.BOOL,)) for each in conditions]
        self._validations = [
            _Validation(
                each,
                compile_(each.expression, (types.BOOL,)),
                compile_(each.message_expression, (types.STRING,))
                if each.message_expression
                else None,
            )
            for each in validations
        ]

    def decide(self, request: Mapping[str, Value], params: Body | None = None) -> Decision | None:
        """Return the reason why a request is not admitted; None if it is.

        request: a `server_scope`; match conditions do not see its `namespaceObject`.
        """
        scope = PolicyScope(request)
        scope["params"] = params
        if self._conditions:
            scope["namespaceObject"] = None
            scope["variables"] = self._expressions.variables(scope)
            decision = self._match(scope)
            if decision is not None:
                return decision
            scope["namespaceObject"] = request["namespaceObject"]
        scope["variables"] = self._expressions.variables(scope, scope.computed)
        for each in self._validations:
            try:
                if each.expression.evaluate(scope) is True:
                    continue
            except CelError as error:
                fields = self._fields(each, scope)
                return Decision(error.message, is_error=True, fields=fields)
            fields = self._fields(each, scope)
            return Decision(_message(each, scope), fields=fields)
        return None

    def _fields(self, failed: _Validation, scope: Mapping[str, Value]) -> tuple[str, ...]:
        return self._expressions.fields_of(
            failed.expression, scope, self._conditions, self._constraints
        )

    def _match(self, scope: Mapping[str, Value]) -> Decision | None:
        failures = failed(lambda one: one.evaluate(scope), self._conditions)
        if failures == []:
            return None
        if failures is None or self._ignores_errors:
            return SKIPPED
        unlike = list(dict.fromkeys(failures))
        text = unlike[0] if len(unlike) == 1 else f"[{', '.join(unlike)}]"
        return Decision(text, is_error=True)


def _message(failed: _Validation, scope: Mapping[str, Value]) -> str:
    """The message expression's text, if it is one line and not too long; else the message."""
    if failed.message is not None:
        try:
            text = str(failed.message.evaluate(scope)).strip()
        except CelError:
            text = ""
        if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE:
            return text
    return (
        failed.validation.message.strip()
        or f"failed expression: {failed.validation.expression.strip()}"
    )
