"""Conflicts of a policy with itself: an exclude that takes all of its match, and overrides of
actions for the same namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from chartkit.engine.cluster_policy.policy import ActionOverride, Policy, ResourceFilter, Rule
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard

if TYPE_CHECKING:
    from chartkit.engine.kubernetes.selectors import LabelSelector


def matches_nothing(rule: Rule) -> bool:
    """Report whether a rule can match nothing at all, as far as Kyverno compares the two blocks."""
    match, exclude = rule.match, rule.exclude
    if exclude is None or exclude.all or match.all:
        return False
    if match.any and exclude.any:
        return any(resource_filter in exclude.any for resource_filter in match.any)
    written = rule.body["exclude"]
    # An empty list is something to Kyverno.
    given = [*(written.get("resources") or {}).values()]
    given += (value for name, value in written.items() if name != "resources")
    if all(value is None or value == "" for value in given):
        return False
    return _takes_all(exclude.direct, match.direct)


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
    for unwanted, wanted in ((exclude.namespaces, match.namespaces), (exclude.kinds, match.kinds)):
        if unwanted and not _covers(unwanted, wanted):
            return False
    return (
        _selectors_agree(exclude.selector, match.selector)
        and _selectors_agree(exclude.namespace_selector, match.namespace_selector)
        and exclude.annotations == match.annotations
    )


def _covers(unwanted: tuple[object, ...], wanted: tuple[object, ...]) -> bool:
    return bool(wanted) and all(value in unwanted for value in wanted)


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


_NAME = "validationFailureActionOverrides"


def overrides_fault(policy: Policy) -> str | None:
    """Return the fault of a ClusterPolicy's overrides, in Kyverno's words."""
    for index, rule in enumerate(policy.rules):
        path = f"spec.rules[{index}].validate.{_NAME}"
        if fault := _fault(rule.validate.failure_action_overrides, path):
            return fault
    return _fault(policy.failure_action_overrides, f"spec.{_NAME}")


def _fault(overrides: Sequence[ActionOverride], path: str) -> str | None:
    named: dict[bool, set[str]] = {True: set(), False: set()}
    patterns: dict[bool, set[str]] = {True: set(), False: set()}
    for index, override in enumerate(overrides):
        where = f"{path}[{index}].namespaces"
        if not override.action:
            return "invalid action"
        enforces = override.action.lower() == "enforce"
        given = override.namespaces or ()
        names = {name for name in given if not has_wildcard(name)}
        if shared := sorted(named[not enforces] & names):
            return f"conflicting namespaces found in path: {where}: {', '.join(shared)}"
        patterns[enforces] |= set(given) - names
        named[enforces] |= names
        if fault := _wildcard_fault(named, patterns):
            return f"path: {where}: {fault}"
    return None


def _wildcard_fault(named: dict[bool, set[str]], patterns: dict[bool, set[str]]) -> str | None:
    for enforces in (True, False):
        if pair := _match(patterns[not enforces], named[enforces]):
            return f"wildcard pattern '{pair[0]}' matches with namespace '{pair[1]}'"
    for enforces in (False, True):
        if pair := _match(patterns[enforces], patterns[not enforces]):
            return f"wildcard pattern '{pair[0]}' conflicts with the pattern '{pair[1]}'"
    return None


def _match(patterns: Iterable[str], names: Iterable[str]) -> tuple[str, str] | None:
    for pattern in sorted(patterns):
        fits = compile_wildcard(pattern)
        for name in sorted(names):
            if fits(name):
                return pattern, name
    return None
