"""CK711: rules without a message."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.cluster_policy.policy import RuleKind
from chartkit.model import Diagnostic, texts_below


class Message(PolicyRule):
    id = "CK711"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        cel = subject.cel_policy
        for path, rule in subject.rules:
            # A condition may have a message of its own.
            texts = texts_below(rule.body.get("validate"))
            has_message = any(text.strip() for at, text in texts if at[-1:] == ("message",))
            if rule.kind is RuleKind.VALIDATE and not has_message:
                yield self.finding(
                    subject, (*path, "validate"), f"rule {rule.name}: has no message"
                )
        for index, validation in enumerate(cel.validations if cel is not None else ()):
            if not (validation.message.strip() or validation.message_expression.strip()):
                path = ("spec", "validations", index)
                yield self.finding(subject, path, "a validation has no message")
