"""Checks of values and rendered charts, by the rules in `rules/`."""

from __future__ import annotations

from typing import Final

from chartkit.model import Diagnostic
from chartkit.values.lint.rule import ChartValues, Stage
from chartkit.values.lint.rules import RULES
from chartkit.values.lint.rules.keys import invalid_value, misplaced_feature, moved_key, unknown_key

_GENERAL: Final = frozenset({invalid_value.id, unknown_key.id})
OF_KEYS: Final = _GENERAL | {misplaced_feature.id, moved_key.id}
"""The ids of findings about one key, whatever the others are."""


def lint(subject: ChartValues, *stages: Stage) -> list[Diagnostic]:
    """Return all findings of the rules that look at some stages. Of a place about which a rule
    knows more than that the schema refuses it or the chart has no such key, only that rule's
    finding."""
    findings = [fault for stage in stages for rule in RULES for fault in rule.check(stage, subject)]
    explained = {fault.location for fault in findings if fault.rule_id not in _GENERAL}
    return [
        fault
        for fault in findings
        if fault.rule_id not in _GENERAL or fault.location not in explained
    ]


__all__ = ["OF_KEYS", "ChartValues", "Stage", "lint"]
