"""Fields that a policy's expressions name and the kinds it speaks of do not have.

The definition takes such a policy, and so does Kyverno: it fails when an object comes by. What is
found is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from chartkit.engine.cel.checker import UndefinedField
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.shapes import kinds_matched, misspelt
from chartkit.engine.cel.shapes.names import meant_resource
from chartkit.engine.cel_policies.expressions import ExpressionCompiler, expressions_of
from chartkit.engine.cel_policies.policy import CelPolicy, ResourceRule, field_at
from chartkit.engine.kubernetes.definitions import MISSPELT_RULE
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.kubernetes.policy_kinds import CelKind
from chartkit.errors import CompileError
from chartkit.model import Diagnostic, Severity
from chartkit.suggestions import suggestion

_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
_ENVIRONMENTS: Final = {
    CelKind.VALIDATING: "vpol",
    CelKind.MUTATING: "mpol",
    CelKind.GENERATING: "gpol",
    CelKind.DELETING: "dpol",
    CelKind.IMAGE_VALIDATING: "ivpol",
    CelKind.VALIDATING_ADMISSION: "vap",
    CelKind.MUTATING_ADMISSION: "map",
}


def misspelt_fields(policy: CelPolicy) -> list[Diagnostic]:
    """A warning for each field of `object` that a kind the policy speaks of does not have.

    Nothing is said where the kinds are not Kubernetes' own, or named by wildcards.
    """
    kinds = _kinds(policy)
    if not kinds:
        return []
    compiler = ExpressionCompiler(policy, ENVIRONMENTS[_ENVIRONMENTS[policy.kind]])
    try:
        compiler.variables(policy.variables)
    except CompileError:
        return []
    found: list[Diagnostic] = []
    for path, text, _expected in expressions_of(policy):
        program = compiler.one(path, text)
        if program is None:
            continue
        for issues in misspelt(program, kinds):
            found += [
                replace(
                    one,
                    message=f"{policy.key}: {path}: {one.message}",
                    location=field_at(policy, path, _offset(text, issue)),
                )
                for one, issue in zip(issues.diagnostics(), issues.issues, strict=True)
            ]
    return found


def _offset(text: str, issue: UndefinedField) -> int | None:
    """Return the offset of the field's name, which follows the issue's own."""
    if issue.offset is None:
        return None
    found = text.find(issue.field, issue.offset)
    return found if found >= 0 else issue.offset


def misspelt_resources(policy: CelPolicy) -> list[Diagnostic]:
    """Return a warning for each resource that is nearly one of Kubernetes' (`pod`), and for each
    operation that there is not."""
    found: list[Diagnostic] = []
    rules = policy.constraints.rules if policy.constraints is not None else ()
    for index, rule in enumerate(rules):
        found += _operations(policy, index, rule)
        for at, resource in enumerate(rule.resources):
            meant = meant_resource(rule.groups, resource.partition("/")[0])
            if meant is None:
                continue
            message = f"{policy.key}: there is no resource '{resource}': the rule matches no object"
            path = f"spec.matchConstraints.resourceRules[{index}].resources[{at}]"
            place, hint = field_at(policy, path), f"did you mean '{meant}'?"
            found.append(Diagnostic(MISSPELT_RULE, Severity.WARNING, message, place, hint))
    return found


def _operations(policy: CelPolicy, index: int, rule: ResourceRule) -> Iterator[Diagnostic]:
    for at, operation in enumerate(rule.operations):
        if operation not in _OPERATIONS:
            message = f"{policy.key}: there is no operation '{operation}': no webhook can have it"
            path = f"spec.matchConstraints.resourceRules[{index}].operations[{at}]"
            hint = suggestion(operation.upper(), _OPERATIONS) or f"known: {', '.join(_OPERATIONS)}"
            place = field_at(policy, path)
            yield Diagnostic(MISSPELT_RULE, Severity.WARNING, message, place, hint)


def _kinds(policy: CelPolicy) -> list[GroupVersionKind]:
    rules = policy.constraints.rules if policy.constraints is not None else ()
    found = (kinds_matched(rule.groups, rule.versions, rule.resources) for rule in rules)
    return list(dict.fromkeys(kind for kinds in found for kind in kinds))
