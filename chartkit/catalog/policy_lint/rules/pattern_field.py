"""CK702: fields in patterns that no matched kind has."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.kind_types import kinds_selected, names_of
from chartkit.catalog.policy_lint.patterns import PatternPart, patterns_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.catalog.policy_lint.shapes import PatternValue, field_text, values_of
from chartkit.catalog.policy_lint.witness import pattern_tries, with_key, witness
from chartkit.model import Diagnostic
from chartkit.suggestions import did_you_mean, nearest


class PatternField(PolicyRule):
    id = "CK702"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for part in patterns_of(subject.cluster_policy):
            for value in values_of(part):
                if not value.types and value.steps[-1] != "[]":
                    yield self._unknown(subject, part, value)

    def _unknown(self, subject: Subject, part: PatternPart, value: PatternValue) -> Diagnostic:
        kinds = dict.fromkeys(kind.kind for kind in kinds_selected(part.kinds))
        field = field_text(value.steps)
        owner = "element" if part.loops else " or ".join(kinds)
        message = f"rule {part.rule.name}: no {owner} has the field {field}"
        name = next(iter(nearest(value.steps[-1], names_of(value.owner), 1)), None)
        if name is None:
            return self.finding(subject, value.path, message)
        if not (part.is_overlay or part.loops):
            key = str(value.path[-1]).replace(value.steps[-1], name)
            tries = pattern_tries(part, (*value.path[:-1], key))
            message += witness(subject, part.rule, with_key(subject, value.path, key), tries)
        return self.finding(subject, value.path, message, did_you_mean([name]))
