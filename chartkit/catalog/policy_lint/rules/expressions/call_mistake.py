"""CK730: calls of functions that always fail."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.expressions import expressions_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.jmespath.advice import call_mistakes
from chartkit.model import Diagnostic


class CallMistake(PolicyRule):
    id = "CK730"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for each in expressions_of(subject.cluster_policy):
            for mistake in call_mistakes(each.text, each.is_text):
                message = f"rule {each.rule.name}: {mistake.problem}: the rule fails with an error"
                offset = each.offset + max(each.text.find(f"{mistake.function}("), 0)
                yield self.finding(subject, each.path, message, mistake.hint, offset)
