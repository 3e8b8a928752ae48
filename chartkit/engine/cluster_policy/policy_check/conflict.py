"""The check that exclude does not remove all that match names (Kyverno's
`ValidateMatchExcludeConflict`)."""

from __future__ import annotations

from chartkit.engine.cluster_policy.policy import ResourceFilter, Rule
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Body


def matches_nothing(rule: Rule) -> bool:
    """Return whether a rule can match nothing at all, as far as Kyverno compares the two blocks."""
    match, exclude = rule.match, rule.exclude
    if exclude is None or exclude.all or match.all:
        return False
    if match.any and exclude.any:
        return any(one in exclude.any for one in match.any)
    if _is_unset(rule.body["exclude"]):
        return False
    return _takes_all(exclude.direct, match.direct)


def _is_unset(exclude: Body) -> bool:
    """Return whether nothing at all is written in it: an empty list is something to Kyverno."""
    given = [*(exclude.get("resources") or {}).values()]
    given += (value for name, value in exclude.items() if name != "resources")
    return all(value is None or value == "" for value in given)


def _takes_all(exclude: ResourceFilter, match: ResourceFilter) -> bool:
    for unwanted, wanted in (
        (exclude.roles, match.roles),
        (exclude.cluster_roles, match.cluster_roles),
        (exclude.subjects, match.subjects),
    ):
        if unwanted and not _covers(unwanted, wanted):
            return False
    if exclude.name and not compile_wildcard(exclude.name)(match.name):
        return False
    if exclude.names:
        fits = [compile_wildcard(name) for name in exclude.names]
        return any(fit(name) for name in match.names for fit in fits)
    for unwanted, wanted in (
        (exclude.namespaces, match.namespaces),
        (exclude.kinds, match.kinds),
    ):
        if unwanted and not _covers(unwanted, wanted):
            return False
    return (
        _selectors_agree(exclude.selector, match.selector)
        and _selectors_agree(exclude.namespace_selector, match.namespace_selector)
        and exclude.annotations == match.annotations
    )


def _covers(unwanted: tuple[object, ...], wanted: tuple[object, ...]) -> bool:
    return bool(wanted) and all(one in unwanted for one in wanted)


def _selectors_agree(exclude: LabelSelector | None, match: LabelSelector | None) -> bool:
    if exclude is None or match is None:
        return exclude is match
    if exclude.expressions and not _covers(exclude.expressions, match.expressions):
        return False
    if not exclude.labels:
        return True
    return bool(match.labels) and all(
        exclude.labels.get(name, "") == value for name, value in match.labels.items()
    )
