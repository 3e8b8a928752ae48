"""Runs compiled policies on one request, in admission order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chartkit.engine.policies import RunnablePolicy
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Phase, Request, Run
from chartkit.model import RuleResult


def evaluate(
    policies: Sequence[RunnablePolicy],
    request: Request,
    world: World = OFFLINE,
    phases: Iterable[Phase] = Phase,
) -> list[RuleResult]:
    """Return the result of every rule that matches: mutation first, then images, validation,
    generation.

    phases: those of an admission, in order; a background scan has not all of them.
    Never raises for what a policy or a resource holds: that becomes `Status.ERROR` of the rule.
    A failure of a policy that is not scored is a warning.
    """
    results: list[RuleResult] = []
    run = Run(request, world)
    for phase in phases:
        for policy in policies:
            if phase in policy.phases:
                policy.run_phase(run, phase, results)
    return run.settled(results)
