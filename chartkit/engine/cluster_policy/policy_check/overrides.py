"""Failure actions by namespace: no namespace may be told both to enforce and to audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chartkit.engine.cluster_policy.policy import ActionOverride, Policy
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard

_NAME = "validationFailureActionOverrides"


def overrides_fault(policy: Policy) -> str | None:
    """Return the fault of a ClusterPolicy's overrides, in Kyverno's words."""
    if policy.namespace:
        return None
    for index, rule in enumerate(policy.rules):
        place = f"spec.rules[{index}].validate.{_NAME}"
        fault = _fault(rule.validate.failure_action_overrides, place)
        if fault:
            return fault
    return _fault(policy.failure_action_overrides, f"spec.{_NAME}")


def _fault(overrides: Sequence[ActionOverride], place: str) -> str | None:
    named: dict[bool, set[str]] = {True: set(), False: set()}
    patterns: dict[bool, set[str]] = {True: set(), False: set()}
    for index, one in enumerate(overrides):
        where = f"{place}[{index}].namespaces"
        if not one.action:
            return "invalid action"
        enforces = one.action.lower() == "enforce"
        given = one.namespaces or ()
        names = {name for name in given if not has_wildcard(name)}
        shared = sorted(named[not enforces] & names)
        if shared:
            return f"conflicting namespaces found in path: {where}: {', '.join(shared)}"
        patterns[enforces] |= set(given) - names
        named[enforces] |= names
        fault = _wildcard_fault(named, patterns)
        if fault:
            return f"path: {where}: {fault}"
    return None


def _wildcard_fault(named: dict[bool, set[str]], patterns: dict[bool, set[str]]) -> str | None:
    for enforces in (True, False):
        found = _match(patterns[not enforces], named[enforces])
        if found:
            return f"wildcard pattern '{found[0]}' matches with namespace '{found[1]}'"
    for enforces in (False, True):
        found = _match(patterns[enforces], patterns[not enforces])
        if found:
            return f"wildcard pattern '{found[0]}' conflicts with the pattern '{found[1]}'"
    return None


def _match(patterns: Iterable[str], names: Iterable[str]) -> tuple[str, str] | None:
    for pattern in sorted(patterns):
        fits = compile_wildcard(pattern)
        for name in sorted(names):
            if fits(name):
                return pattern, name
    return None
