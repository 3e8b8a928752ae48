"""CK706: exclusions of everything that a rule matches, and of nothing."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.coverage import filters_of, is_empty, match_covers
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.cel_policies.policy import ResourceRule
from chartkit.engine.cluster_policy.policy import Match, Rule
from chartkit.model import Diagnostic, FieldPath


class Excluded(PolicyRule):
    id = "CK706"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for path, rule in subject.rules:
            if rule.exclude is not None:
                yield from self._of_rule(subject, rule, rule.exclude, path)
        constraints = subject.cel_policy.constraints if subject.cel_policy is not None else None
        if constraints is None or not constraints.rules:
            return
        if all(
            any(_takes(one, rule) for one in constraints.excluded) for rule in constraints.rules
        ):
            path = ("spec", "matchConstraints", "excludeResourceRules")
            message = "excludes everything that it matches: it does nothing"
            yield self.finding(subject, path, message, "narrow the rules")

    def _of_rule(
        self, subject: Subject, rule: Rule, exclude: Match, path: FieldPath
    ) -> Iterator[Diagnostic]:
        if match_covers(exclude, rule.match):
            message = f"rule {rule.name}: excludes everything that it matches: it does nothing"
            yield self.finding(subject, (*path, "exclude"), message, "narrow the exclude")
            return
        key = "any" if exclude.any else "all" if exclude.all else ""
        for at, one in enumerate(filters_of(exclude)):
            if is_empty(one):
                here = (*path, "exclude", key, at) if key else (*path, "exclude")
                message = f"rule {rule.name}: an exclude without a filter excludes nothing"
                yield self.finding(subject, here, message, "name kinds, names or namespaces")


def _takes(wide: ResourceRule, narrow: ResourceRule) -> bool:
    """Return whether a resource rule of a policy in CEL takes everything that another one does."""
    pairs = zip(_parts(wide), _parts(narrow), strict=True)
    is_general = wide.names in ((), narrow.names) and wide.scope in ("*", narrow.scope)
    return is_general and all("*" in most or set(some) <= set(most) for most, some in pairs)


def _parts(rule: ResourceRule) -> tuple[tuple[str, ...], ...]:
    return rule.groups, rule.versions, rule.resources, rule.operations
