"""CK703: fields in JMESPath that no matched kind has."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.expressions import PolicyExpression, expressions_of
from chartkit.catalog.policy_lint.kind_types import field_types, kinds_selected, names_of
from chartkit.catalog.policy_lint.queries import Typed
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.catalog.policy_lint.shapes import field_steps, is_list
from chartkit.catalog.policy_lint.witness import field_tries, witness
from chartkit.model import Diagnostic, pointed_at, with_value
from chartkit.suggestions import did_you_mean, nearest


class QueryField(PolicyRule):
    id = "CK703"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for expression in expressions_of(subject.cluster_policy):
            for name, owner in expression.unknown:
                yield self._unknown(subject, expression, name, owner)

    def _unknown(
        self, subject: Subject, expression: PolicyExpression, name: str, owner: Typed
    ) -> Diagnostic:
        rule, path = expression.rule, expression.path
        offset = expression.offset + max(expression.text.find(name), 0)
        kinds = dict.fromkeys(kind.kind for kind in kinds_selected(rule.match.kinds))
        field = ".".join(filter(None, (owner.field, name)))
        message = f"rule {rule.name}: no {' or '.join(kinds)} has the field {field}"
        hint = None
        if is_list(owner.types):
            hint = f"{owner.field} is a list: write {owner.field}[].{name}"
        elif near := next(iter(nearest(name, names_of(owner.types), 1)), None):
            hint = did_you_mean([near])
            text = pointed_at(subject.resource.body, map(str, path))
            if isinstance(text, str) and text[offset:].startswith(name):
                corrected = f"{text[:offset]}{near}{text[offset + len(name) :]}"
                body = with_value(subject.resource.body, path, corrected)
                steps = (*field_steps(owner.field), near) if owner.field else (near,)
                tries = list(field_tries(steps, field_types(owner.types, near)))
                message += witness(subject, rule, body, lambda _: tries)
        return self.finding(subject, path, message, hint, offset)
