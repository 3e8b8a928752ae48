"""The coverage of tests: rules that none reaches, that never match, or that never fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from chartkit.model import Location, Status
from chartkit.testing.assertions import written_rule
from chartkit.testing.model import CaseResult, PolicyRules

_FAILURES: Final = frozenset({Status.FAIL, Status.WARN})


@dataclass(slots=True)
class RuleCoverage:
    """One rule of one policy over all tests that load it.

    judging: whether it can fail; reached: whether an expectation names it; matched: whether it has
    a result for any object; failed: whether it ever failed one.
    """

    policy: str
    rule: str
    location: Location
    judging: bool
    reached: bool = False
    matched: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """All rules that tests load, by policy file and rule."""

    rules: tuple[RuleCoverage, ...] = field(default=())

    @property
    def unreached(self) -> list[RuleCoverage]:
        """Rules that no expectation names."""
        return [rule for rule in self.rules if not rule.reached]

    @property
    def unmatched(self) -> list[RuleCoverage]:
        """Rules that match no object of any test."""
        return [rule for rule in self.rules if not rule.matched]

    @property
    def never_failed(self) -> list[RuleCoverage]:
        """Rules that match, and could fail, but never did."""
        return [rule for rule in self.rules if rule.matched and rule.judging and not rule.failed]


def coverage_of(results: Iterable[CaseResult]) -> Coverage:
    """Add the results of all tests up."""
    rules: dict[tuple[str, int, str, str], RuleCoverage] = {}
    for case in results:
        for policy in case.policies:
            _add(case, policy, rules)
    return Coverage(tuple(rules[key] for key in sorted(rules)))


def _add(
    case: CaseResult, policy: PolicyRules, rules: dict[tuple[str, int, str, str], RuleCoverage]
) -> None:
    file, line, name = policy.key
    own = set(policy.rules)
    reached = {
        written_rule(row.rule, own)
        for row in case.rows
        if row.policy.rpartition("/")[2] == name and row.got
    }
    seen = [(written_rule(one.rule, own), one.status) for one in case.seen if one.policy == name]
    matched = {rule for rule, _ in seen}
    failed = {rule for rule, status in seen if status in _FAILURES}
    for rule in policy.rules:
        coverage = rules.setdefault(
            (file, line, name, rule),
            RuleCoverage(name, rule, Location(file, line), rule in policy.judging),
        )
        coverage.reached |= rule in reached
        coverage.matched |= rule in matched
        coverage.failed |= rule in failed
