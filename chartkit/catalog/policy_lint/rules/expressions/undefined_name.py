"""CK731: names in JMESPath that are not variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chartkit.catalog.policy_lint.expressions import PolicyExpression, expressions_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.jmespath.advice import roots_of
from chartkit.engine.jmespath.expression import WHOLE_INPUT
from chartkit.model import Diagnostic
from chartkit.suggestions import did_you_mean, nearest

_MEANT = frozenset((WHOLE_INPUT, "null"))
"""Names with the value that they seem to have: `request.object.a || null`."""


class UndefinedName(PolicyRule):
    id = "CK731"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for each in expressions_of(subject.cluster_policy):
            for name in sorted(roots_of(each.text) - _MEANT):
                if not each.has(name):
                    yield self._undefined(subject, each, name)

    def _undefined(self, subject: Subject, each: PolicyExpression, name: str) -> Diagnostic:
        near = nearest(name, each.names, 1, 0.75)
        hint = did_you_mean(near) or f"write '{name}' if it is a text"
        found = re.search(rf"(?<![\w.'\"-]){re.escape(name)}(?![\w'\"-])", each.text)
        offset = each.offset + (found.start() if found else 0)
        message = f"rule {each.rule.name}: there is no variable '{name}'"
        return self.finding(subject, each.path, message, hint, offset)
