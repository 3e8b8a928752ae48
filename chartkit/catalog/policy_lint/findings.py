"""The findings of every rule in policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from chartkit.addon import addons, loaded
from chartkit.catalog.policy_lint.levels import NO_LEVELS, Levels
from chartkit.catalog.policy_lint.rule import Subject
from chartkit.catalog.policy_lint.rules import RULES
from chartkit.engine import RunnablePolicy, is_policy
from chartkit.engine.kubernetes.kinds import is_binding
from chartkit.kyverno.versions import Release
from chartkit.model import Diagnostic, Resource, Severity
from chartkit.scan.policies import PolicySet

_MOST_FINDINGS: Final = 50
"""The most findings of a rule in one policy."""


def rule_findings(
    written: Iterable[Resource],
    compiled: PolicySet,
    levels: Levels = NO_LEVELS,
    kyverno: Release | None = None,
) -> Iterator[Diagnostic]:
    """Yield the findings of every rule in every policy; written: those that do not compile among
    them, and objects that are not policies; levels: by which rules are on that otherwise are off;
    kyverno: the release that they are for, None for any."""
    runnable = {id(each.policy.resource): each for each in compiled.policies}
    objects = tuple(written)
    run = tuple(filter(is_policy, objects))
    rules = [rule for rule in RULES if not rule.is_off or rule.id in levels]
    for resource in (*run, *filter(is_binding, objects)):
        subject = Subject(resource, runnable.get(id(resource)), run, compiled.names, kyverno)
        for rule in rules:
            found = list(islice(rule.check(subject), _MOST_FINDINGS + 1))
            yield from found[:_MOST_FINDINGS]
            if len(found) > _MOST_FINDINGS:
                message = f"{resource.name}: has more findings of this rule, which are left out"
                yield Diagnostic(rule.id, Severity.NOTE, message, found[-1].location)


def run_findings(policies: Sequence[RunnablePolicy]) -> Iterator[Diagnostic]:
    """Yield the findings of the rules about several policies together; none without the add-on that
    decides them."""
    addon = addons().get("satisfy")
    levels = {rule.id: rule.level for rule in RULES}
    found = () if addon is None else loaded(addon.ports["together"])(policies)
    for rule, severity, location, message, hint in found:
        yield Diagnostic(rule, severity or levels[rule], message, location, hint)
