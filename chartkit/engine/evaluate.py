"""Runs compiled policies on one request, in admission order."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.compile import CompiledPolicy
from chartkit.engine.lookups import OFFLINE, Lookups
from chartkit.engine.request import Request
from chartkit.model import RuleResult


def evaluate(
    policies: Sequence[CompiledPolicy], request: Request, lookups: Lookups = OFFLINE
) -> list[RuleResult]:
    """What every rule that matches says: mutation first, then images, validation, generation.

    Never raises for what a policy or a resource holds: that becomes `Status.ERROR` of the rule.
    """
    raise NotImplementedError
