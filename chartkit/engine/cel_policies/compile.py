"""From a CEL policy to something that runs: one compiler a kind, in an explicit table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel_policies.autogen import extended
from chartkit.engine.cel_policies.exceptions import CelException
from chartkit.engine.cel_policies.generating import GeneratingJudge
from chartkit.engine.cel_policies.judging import Admission, Judge
from chartkit.engine.cel_policies.policy import CelKind, CelPolicy
from chartkit.engine.cel_policies.reader import read_cel_policy
from chartkit.engine.cel_policies.validating import ValidatingJudge
from chartkit.engine.kinds import GroupVersionKind, is_custom
from chartkit.engine.phase import Phase
from chartkit.model import Resource, RuleResult

Compiler = Callable[[CelPolicy, Environment, Sequence[CelException]], Judge]


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind runs. environment: its name, prefixed with `n` for a namespaced policy;
    extends: whether it is extended to pod controllers."""

    phase: Phase
    environment: str
    compiler: Compiler
    extends: bool = False


KINDS: Final[dict[CelKind, Kind]] = {
    CelKind.VALIDATING: Kind(Phase.VALIDATE, "vpol", ValidatingJudge, extends=True),
    CelKind.GENERATING: Kind(Phase.GENERATE, "gpol", GeneratingJudge),
}


@dataclass(frozen=True, slots=True)
class CompiledCelPolicy:
    """A policy that is ready to run: itself, and its forms for pod controllers."""

    policy: CelPolicy
    phases: frozenset[Phase]
    judges: tuple[Judge, ...]
    scored: bool = True

    def run(self, admission: Admission) -> list[RuleResult]:
        """What the policy says of a request, in each form that speaks of it."""
        results = (judge.run(admission) for judge in self.judges)
        return [result for result in results if result is not None]

    def plural(self, kind: GroupVersionKind) -> str:
        """The resource name of a custom kind, where the constraints tell it; else empty."""
        if not is_custom(kind):
            return ""
        lowered = kind.kind.lower()
        constraints = self.policy.constraints
        for rule in constraints.rules if constraints is not None else ():
            for resource in rule.resources:
                name = resource.partition("/")[0]
                if name.lower() == lowered:
                    return name
        return ""


def compile_cel_policy(
    resource: Resource, exceptions: Sequence[CelException] = ()
) -> CompiledCelPolicy:
    """Compiles a policy whose rules are CEL, with the exceptions there are.

    Raises CompileError with every diagnostic where its definition does not take it or an
    expression does not compile.
    """
    policy = read_cel_policy(resource)
    kind = KINDS[policy.kind]
    prefix = "n" if policy.namespace else ""
    environment = ENVIRONMENTS[f"{prefix}{kind.environment}"]
    applying = tuple(one for one in exceptions if one.names(policy))
    forms = (policy, *(extended(policy) if kind.extends else ()))
    judges = tuple(kind.compiler(form, environment, applying) for form in forms)
    scored = policy.annotations.get("policies.kyverno.io/scored") != "false"
    return CompiledCelPolicy(policy, frozenset({kind.phase}), judges, scored)
