"""Rules about several policies together, which the add-on `satisfy` decides."""

from __future__ import annotations

from collections.abc import Iterable

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic


class RunRule(PolicyRule):
    """A rule about all policies of a run, of which the add-on brings the findings."""

    def check(self, _subject: Subject) -> Iterable[Diagnostic]:
        """Return nothing: a single policy has no finding."""
        return ()
