"""CK706: exclusions of everything that a rule matches, and of nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.cel_policies.policy import ResourceRule
from chartkit.engine.cluster_policy.policy import Match, ResourceFilter, Rule
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import Diagnostic, FieldPath
from chartkit.schemas.kind_selectors import parse_kind_selector

_MOST_PAIRS: Final = 10_000


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
        if _match_covers(exclude, rule.match):
            message = f"rule {rule.name}: excludes everything that it matches: it does nothing"
            yield self.finding(subject, (*path, "exclude"), message, "narrow the exclude")
            return
        key = "any" if exclude.any else "all" if exclude.all else ""
        for at, one in enumerate(_filters_of(exclude)):
            if one == ResourceFilter():
                here = (*path, "exclude", key, at) if key else (*path, "exclude")
                message = f"rule {rule.name}: an exclude without a filter excludes nothing"
                yield self.finding(subject, here, message, "name kinds, names or namespaces")


def _takes(wide: ResourceRule, narrow: ResourceRule) -> bool:
    """Report whether a resource rule of a policy in CEL takes everything that another one does."""
    pairs = zip(_parts(wide), _parts(narrow), strict=True)
    is_general = wide.names in ((), narrow.names) and wide.scope in ("*", narrow.scope)
    return is_general and all("*" in most or set(some) <= set(most) for most, some in pairs)


def _parts(rule: ResourceRule) -> tuple[tuple[str, ...], ...]:
    return rule.groups, rule.versions, rule.resources, rule.operations


def _filters_of(match: Match) -> Sequence[ResourceFilter]:
    """Return the filters of a match or exclude that are read: Kyverno passes over those written
    directly next to `any` or `all`, and over `all` next to `any`."""
    return match.any or match.all or (match.direct,)


def _match_covers(wide: Match, narrow: Match) -> bool:
    """Report whether everything that one match takes is taken by another; False where that is not
    plain."""
    if narrow.all and not narrow.any and len(narrow.all) > 1:
        return False
    return all(
        any(_covers(other, one) for other in _filters_of(wide))
        if wide.any or not wide.all
        else all(_covers(other, one) for other in wide.all)
        for one in _filters_of(narrow)
    )


def _covers(wide: ResourceFilter, narrow: ResourceFilter) -> bool:
    if wide == ResourceFilter() or wide.has_user:
        return False
    return (
        _lists(wide.kinds, narrow.kinds, _kind_covers)
        and _lists(_names(wide), _names(narrow), _text_covers)
        and _lists(wide.namespaces, narrow.namespaces, _text_covers)
        and _lists(wide.operations, narrow.operations, str.__eq__)
        and wide.annotations in (None, {}, narrow.annotations)
        and wide.selector in (None, narrow.selector)
        and wide.namespace_selector in (None, narrow.namespace_selector)
    )


def _names(one: ResourceFilter) -> tuple[str, ...]:
    return (one.name, *one.names) if one.name else one.names


def _lists(wide: Sequence[str], narrow: Sequence[str], covers: Callable[[str, str], bool]) -> bool:
    """Report whether each of some texts is covered by another one; no texts are all of them."""
    if not wide:
        return True
    if not 0 < len(narrow) * len(wide) < _MOST_PAIRS:
        return False
    return all(any(covers(other, one) for other in wide) for one in narrow)


def _text_covers(wide: str, narrow: str) -> bool:
    return wide in ("*", narrow) or (not has_wildcard(narrow) and compile_wildcard(wide)(narrow))


def _kind_covers(wide: str, narrow: str) -> bool:
    return all(map(_text_covers, parse_kind_selector(wide), parse_kind_selector(narrow)))
