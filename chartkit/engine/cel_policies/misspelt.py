"""Fields that a policy's expressions name and the kinds it speaks of do not have.

The definition takes such a policy, and so does Kyverno: it fails when an object comes by. What is
found is a warning.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel.shapes import kinds_matched, misspelt
from chartkit.engine.cel_policies.expressions import ExpressionCompiler, expressions_of
from chartkit.engine.cel_policies.policy import CelKind, CelPolicy
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.errors import CompileError
from chartkit.model import Diagnostic

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
                    location=policy.resource.location,
                )
                for one in issues.diagnostics()
            ]
    return found


def _kinds(policy: CelPolicy) -> list[GroupVersionKind]:
    rules = policy.constraints.rules if policy.constraints is not None else ()
    found = (kinds_matched(rule.groups, rule.versions, rule.resources) for rule in rules)
    return list(dict.fromkeys(kind for kinds in found for kind in kinds))
