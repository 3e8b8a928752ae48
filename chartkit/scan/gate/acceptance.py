"""Violations that are accepted: those of a baseline, and those that their objects suppress."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date

from chartkit.model import Diagnostic, Resource, RuleResult
from chartkit.report.findings import NONE_ACCEPTED, Acceptance, Accepted, AcceptedAs
from chartkit.scan.gate.baseline import BaselineMatcher
from chartkit.scan.gate.suppressions import (
    Suppression,
    has_suppressions,
    read_suppressions,
    unneeded,
)
from chartkit.scan.gate.violation import VIOLATIONS, violations_of


class Acceptor:
    """The accepted violations of one run; notes: findings about suppressions."""

    def __init__(
        self,
        matcher: BaselineMatcher | None,
        today: date,
        policies: Collection[str],
        allows_suppressions: bool = True,
    ) -> None:
        """policies: the names of all policies that run and count, for suppressions that nothing
        needs to be named; none where not all of their results count."""
        self.matcher = matcher
        self.notes: list[Diagnostic] = []
        self._today = today
        self._policies = policies
        self._allows_suppressions = allows_suppressions

    def accepted(self, resource: Resource, results: Sequence[RuleResult]) -> Accepted:
        """Return the accepted ones among the results of an object."""
        found: dict[int, Acceptance] = {}
        if has_suppressions(resource):
            found.update(self._suppressed(resource, results))
        if self.matcher is None:
            return found or NONE_ACCEPTED
        for position, result in enumerate(results):
            if result.status in VIOLATIONS and position not in found:
                known = self.matcher.match(list(violations_of(resource, result)))
                if known is not None:
                    found[position] = _acceptance(AcceptedAs.KNOWN, known.reason, known.until)
        return found or NONE_ACCEPTED

    def _suppressed(
        self, resource: Resource, results: Sequence[RuleResult]
    ) -> Iterator[tuple[int, Acceptance]]:
        known, warnings = read_suppressions(resource, self._today, self._allows_suppressions)
        self.notes += warnings
        used: list[Suppression] = []
        for position, result in enumerate(results):
            each = next((one for one in known if one.covers(result)), None)
            if each is not None and result.status in VIOLATIONS:
                used.append(each)
                yield position, _acceptance(AcceptedAs.SUPPRESSED, each.reason, each.until)
        self.notes += unneeded(known, used, self._policies)


def _acceptance(state: AcceptedAs, reason: str, until: date | None) -> Acceptance:
    return Acceptance(state, reason, until.isoformat() if until else "")
