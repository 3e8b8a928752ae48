"""The table at the end of a report for people: what failed how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from chartkit.model import RuleResult, Status
from chartkit.report.model import SEVERITIES, PolicyFacts
from chartkit.report.text.layout import table
from chartkit.safe_text import shown

_HEADS: Final = {Status.FAIL: "FAILS", Status.ERROR: "ERRORS", Status.WARN: "WARNINGS"}
_NONE: Final = "-"


class Totals:
    """The number of failures, errors and warnings of each policy, and of the objects that have
    them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._severities: dict[str, str] = {}
        self._counts: dict[str, Counter[Status]] = {}
        self._objects: Counter[str] = Counter()

    def add(self, found: Sequence[tuple[RuleResult, PolicyFacts]]) -> None:
        """Add what an object has."""
        for result, facts in found:
            policy = result.policy_id
            self._names[policy], self._severities[policy] = result.policy, facts.severity
            self._counts.setdefault(policy, Counter())[result.status] += 1
        self._objects.update({result.policy_id for result, _ in found})

    def merge(self, other: Totals) -> None:
        """Add what other objects have."""
        self._names.update(other._names)
        self._severities.update(other._severities)
        for policy, counts in other._counts.items():
            self._counts.setdefault(policy, Counter()).update(counts)
        self._objects.update(other._objects)

    def lines(self, width: int | None) -> list[str]:
        """Return a row for each policy, the worst last; none for a single finding. Of policies
        with one name, those whose rules are CEL have their kind before it."""
        sums: Counter[Status] = sum(self._counts.values(), Counter())
        if sums.total() < 2:
            return []
        statuses = [status for status in _HEADS if sums[status] or status is Status.FAIL]
        names = Counter(self._names.values())
        heads = ["POLICY", "SEVERITY", *(_HEADS[status] for status in statuses), "OBJECTS"]
        rows = [
            [
                shown(self._names[policy] if names[self._names[policy]] == 1 else policy),
                shown(self._severities[policy]) or _NONE,
                *(str(counts[status]) for status in statuses),
                str(self._objects[policy]),
            ]
            for policy, counts in sorted(self._counts.items(), key=lambda each: self._rank(*each))
        ]
        return table([heads, *rows], width)

    def _rank(self, policy: str, counts: Counter[Status]) -> tuple[bool, int, int, str]:
        """Return the place of a policy: what does not fail first, the gravest last."""
        severity = self._severities[policy]
        rank = SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
        fails = counts[Status.FAIL] + counts[Status.ERROR]
        return fails > 0, -rank, fails, self._names[policy]
