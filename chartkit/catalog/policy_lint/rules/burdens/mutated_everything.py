"""CK742: mutation of every object of every kind."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.admission import asked_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.cluster_policy.policy import ResourceFilter, RuleKind
from chartkit.model import Diagnostic


class MutatedEverything(PolicyRule):
    id = "CK742"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for each in asked_of(subject):
            rule, one = each.rule, each.filter
            if rule is None or one is None or not each.is_everything:
                continue
            if rule.kind is RuleKind.MUTATE and not rule.preconditions and not _is_narrow(one):
                message = f"{each.shown}patches every object of every kind"
                yield self.finding(subject, each.path, message, "name the kinds, or preconditions")


def _is_narrow(one: ResourceFilter) -> bool:
    named = one.name or one.names or one.namespaces or one.annotations or one.has_user
    return bool(named) or one.selector is not None or one.namespace_selector is not None
