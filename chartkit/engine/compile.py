"""From a policy to something that runs: everything that the policy alone decides is done here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chartkit.engine.policy import Policy, Rule
from chartkit.model import Resource


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """A policy that is ready to run. diagnostics of the policy itself stand in CompileError."""

    policy: Policy
    exceptions: tuple[Resource, ...] = field(default=())

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules as written, without those for pod controllers."""
        return self.policy.rules


def compile_policy(resource: Resource, exceptions: Sequence[Resource] = ()) -> CompiledPolicy:
    """Compiles a ClusterPolicy or Policy of kyverno.io, with the PolicyExceptions there are.

    Raises CompileError with every diagnostic found where Kyverno's webhook refuses the policy or
    its custom resource definition would not take it.
    """
    raise NotImplementedError
