"""The findings of every rule in policies, at the levels that a project sets (`lint`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Final

from chartkit.addon import addons, loaded
from chartkit.catalog.policy_lint.rule import Subject
from chartkit.catalog.policy_lint.rules import RULES
from chartkit.engine import RunnablePolicy, is_policy
from chartkit.engine.kubernetes.kinds import is_binding
from chartkit.errors import InputError
from chartkit.kyverno.versions import Release
from chartkit.model import Diagnostic, Json, Resource, Severity
from chartkit.project.project import Project
from chartkit.project.settings import whole
from chartkit.scan.policies import PolicySet
from chartkit.suggestions import suggestion

_KEY: Final = "lint"
_MOST_FINDINGS: Final = 50
"""The most findings of a rule in one policy."""
Levels = Mapping[str, Severity | None]
"""The levels of rules by their ids; None: the rule is off."""
NO_LEVELS: Final[Levels] = MappingProxyType({})


def levels(project: Project, environment: str | None = None) -> Levels:
    """Return the levels that a project sets, an environment's over the project's. Raise InputError
    for an unknown rule or environment."""
    ids = [rule.id for rule in RULES]
    named = [project.environment(environment)] if environment else []
    keys = [whole(project.document), *(of.keys for of in named)]
    severities: dict[str, Severity | None] = {}
    for layer in keys:
        given: Mapping[str, Json] = layer.body.get(_KEY) or {}
        for rule_id, level in given.items():
            if rule_id not in ids:
                hint = suggestion(rule_id, ids) or "`chartkit explain` lists them"
                message = f"there is no lint rule '{rule_id}'"
                raise InputError(message, layer.locate(_KEY, rule_id), hint)
            # YAML reads an unquoted `off` as false.
            severities[rule_id] = None if level in ("off", False) else Severity(level)
    return severities


def at_levels(diagnostics: Iterable[Diagnostic], levels: Levels) -> Iterator[Diagnostic]:
    """Yield findings at the levels of a project, without disabled rules."""
    for diagnostic in diagnostics:
        level = levels.get(diagnostic.rule_id, diagnostic.severity)
        if level is not None:
            yield replace(diagnostic, severity=level)


def rule_findings(
    written: Iterable[Resource],
    compiled: PolicySet,
    levels: Levels = NO_LEVELS,
    kyverno: Release | None = None,
) -> Iterator[Diagnostic]:
    """Yield the findings of every rule in every policy; written: those that do not compile among
    them, and objects that are not policies; levels: by which rules are on that otherwise are off;
    kyverno: the release that they are for, None for any."""
    runnable = {id(policy.policy.resource): policy for policy in compiled.policies}
    objects = tuple(written)
    run = tuple(filter(is_policy, objects))
    rules = [rule for rule in RULES if not rule.is_off or rule.id in levels]
    for resource in (*run, *filter(is_binding, objects)):
        subject = Subject(resource, runnable.get(id(resource)), run, compiled.names, kyverno)
        for rule in rules:
            faults = list(islice(rule.check(subject), _MOST_FINDINGS + 1))
            yield from faults[:_MOST_FINDINGS]
            if len(faults) > _MOST_FINDINGS:
                message = f"{resource.name}: has more findings of this rule, which are left out"
                yield Diagnostic(rule.id, Severity.NOTE, message, faults[-1].location)


def run_findings(policies: Sequence[RunnablePolicy]) -> Iterator[Diagnostic]:
    """Yield the findings of rules about several policies; none without the add-on for them."""
    addon = addons().get("satisfy")
    usual = {rule.id: rule.level for rule in RULES}
    rows = () if addon is None else loaded(addon.ports["together"])(policies)
    for rule, severity, location, message, hint in rows:
        yield Diagnostic(rule, severity or usual[rule], message, location, hint)
