"""The nearest miss of policies that matched no object: the check that kept the nearest rule off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.engine import RunnablePolicy
from chartkit.engine.why import Asked, Decision, RuleDecision
from chartkit.model import Resource
from chartkit.report.model import resource_id
from chartkit.scan.run import ScanContext
from chartkit.scan.why.asking import Asker
from chartkit.wording import shortened

_MOST_DECISIONS: Final = 20_000
"""The most rules that are asked about objects: some seconds."""
_MOST_CHARACTERS: Final = 160


def nearest_miss(
    policies: Sequence[RunnablePolicy], context: ScanContext, objects: Sequence[Resource]
) -> str:
    """Return the rule that came nearest to matching an object, and what kept it off, with its line;
    empty where none can be named."""
    most = max(1, _MOST_DECISIONS // max(1, len(policies)))
    misses = list(_misses(Asker(policies, (), context), objects[:most]))
    if not misses:
        return ""
    # Of equal ones the first is named.
    _, resource, rule = max(misses, key=lambda miss: miss[0])
    decision = rule.decision
    place = "" if decision.location is None else f", {decision.location}"
    text = shortened(decision.text, _MOST_CHARACTERS)
    return f"{rule.name}: {text}{place}; the object: {resource_id(resource)}"


def _misses(
    asker: Asker, objects: Sequence[Resource]
) -> Iterator[tuple[tuple[int, int, int], Resource, RuleDecision]]:
    for asked in asker.ask(objects):
        for policy in asked.policies:
            for rule in policy.rules:
                if rule.status is None:
                    yield _nearness(rule.decision), asked.resource, rule


def _nearness(decision: Decision) -> tuple[int, int, int]:
    """Return how near a rule came: whether its kind fits, then how few checks do not hold."""
    step = 0 if decision.is_of_another_kind else 1 if decision.asked is Asked.AUTOGEN else 2
    filters = [part for part in decision.parts if part.asked is Asked.FILTER] or [decision]
    return step, *max(map(_counts, filters))


def _counts(decision: Decision) -> tuple[int, int]:
    checks = list(decision.checks())
    refusing = sum(check.holds is False for check in checks)
    return -refusing, len(checks) - refusing
