"""Faults for which an API server refuses its own policies, though Kyverno's engine evaluates them.

Kyverno gives `orValue` a meaning for values that are no optionals, and with it another type; an
API server does not, so an expression that compiles here may not compile there.
"""

from __future__ import annotations

from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel_policies.admission.expressions import AdmissionExpressions
from chartkit.engine.cel_policies.expressions import EXPRESSION_RULE, expressions_of
from chartkit.engine.cel_policies.policy import CelKind, CelPolicy
from chartkit.go.strconv import quote
from chartkit.model import Diagnostic, Severity


def refused_by_server(policy: CelPolicy) -> list[Diagnostic]:
    """An error for each expression of a ValidatingAdmissionPolicy that an API server refuses."""
    if policy.kind is not CelKind.VALIDATING_ADMISSION:
        return []
    has_params = bool(policy.spec.get("paramKind"))
    there = AdmissionExpressions(ENVIRONMENTS["k8s"], policy.variables, has_params)
    found: list[Diagnostic] = []
    for path, text, expected in expressions_of(policy):
        problem = there.compile(text, expected).problem
        if problem:
            message = f"{policy.key}: {path}: Invalid value: {quote(text)}: {problem}"
            where = policy.resource.location
            hint = "an API server refuses the policy, whatever Kyverno's program says of it"
            found.append(Diagnostic(EXPRESSION_RULE, Severity.ERROR, message, where, hint))
    return found
