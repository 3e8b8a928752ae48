"""CK740: policies about everything that fail closed."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.admission import asked_of, is_fail_closed
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic


class FailClosed(PolicyRule):
    id = "CK740"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        if is_fail_closed(subject):
            for each in asked_of(subject):
                if each.is_everything:
                    message = (
                        f"{each.shown}without Kyverno, the API server refuses all objects of all "
                        "kinds: the policy is about everything and fails closed"
                    )
                    hint = "name the kinds, or set failurePolicy: Ignore"
                    yield self.finding(subject, each.path, message, hint)
