"""What an API server refuses of its own policies, though Kyverno's engine evaluates it.

Kyverno gives `orValue` a meaning for values that are no optionals, and with it another type; an
API server does not, so an expression that compiles here may not compile there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.types import Type
from chartkit.engine.cel_policies.admission_expressions import AdmissionExpressions
from chartkit.engine.cel_policies.policy import CelKind, CelPolicy
from chartkit.engine.values.quoting import quote
from chartkit.model import Diagnostic, Severity

REFUSAL_RULE: Final = "policy-expression"
"""The id of diagnostics for expressions that do not compile."""


def refused_by_server(policy: CelPolicy) -> list[Diagnostic]:
    """An error for each expression of a ValidatingAdmissionPolicy that an API server refuses."""
    if policy.kind is not CelKind.VALIDATING_ADMISSION:
        return []
    has_params = bool(policy.spec.get("paramKind"))
    there = AdmissionExpressions(ENVIRONMENTS["k8s"], policy.variables, has_params)
    found: list[Diagnostic] = []
    for path, text, expected in _expressions(policy):
        problem = there.compile(text, expected).problem
        if problem:
            message = f"{policy.key}: {path}: Invalid value: {quote(text)}: {problem}"
            where = policy.resource.location
            hint = "an API server refuses the policy, whatever Kyverno's program says of it"
            found.append(Diagnostic(REFUSAL_RULE, Severity.ERROR, message, where, hint))
    return found


def _expressions(policy: CelPolicy) -> Iterator[tuple[str, str, tuple[Type, ...]]]:
    for index, named in enumerate(policy.conditions):
        yield f"spec.matchConditions[{index}].expression", named.expression, (types.BOOL,)
    for index, named in enumerate(policy.variables):
        yield f"spec.variables[{index}].expression", named.expression, ()
    for index, one in enumerate(policy.validations):
        path = f"spec.validations[{index}]"
        yield f"{path}.expression", one.expression, (types.BOOL,)
        if one.message_expression:
            yield f"{path}.messageExpression", one.message_expression, (types.STRING,)
    for index, named in enumerate(policy.annotations_made):
        path = f"spec.auditAnnotations[{index}].valueExpression"
        yield path, named.expression, (types.STRING, types.NULL)
