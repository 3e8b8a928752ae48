"""The levels of rules that a project sets (`lint` in chartkit.yaml), for one environment or all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from chartkit.catalog.policy_lint.rules import RULES
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Json, Severity
from chartkit.project.inheritance import whole
from chartkit.project.project import Project
from chartkit.suggestions import suggestion

KEY: Final = "lint"
Levels = Mapping[str, Severity | None]
"""The levels of rules by their ids; None: the rule is off."""
NO_LEVELS: Final[Levels] = MappingProxyType({})


def levels(project: Project, environment: str | None = None) -> Levels:
    """Return the levels that a project sets, those of an environment over those for all.

    Raise InputError for an id of no rule, and for an environment that is not there.
    """
    known = [rule.id for rule in RULES]
    named = [project.environment(environment)] if environment else []
    keys = [whole(project.document), *(of.keys for of in named)]
    found: dict[str, Severity | None] = {}
    for each in keys:
        given: Mapping[str, Json] = each.body.get(KEY) or {}
        for rule_id, level in given.items():
            if rule_id not in known:
                hint = suggestion(rule_id, known) or "`chartkit explain` lists them"
                message = f"there is no lint rule '{rule_id}'"
                raise InputError(message, each.locate(KEY, rule_id), hint)
            # YAML reads an unquoted `off` as false.
            found[rule_id] = None if level in ("off", False) else Severity(level)
    return found


def at_levels(found: Iterable[Diagnostic], levels: Levels) -> Iterator[Diagnostic]:
    """Yield findings at the levels of a project, without those of rules that are off."""
    for diagnostic in found:
        level = levels.get(diagnostic.rule_id, diagnostic.severity)
        if level is not None:
            yield replace(diagnostic, severity=level)
