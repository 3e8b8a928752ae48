"""Checks of values and rendered charts; each rule is a module in `rules/`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from chartkit.model import Diagnostic
from chartkit.values.lint.rule import ChartValues
from chartkit.values.lint.rules import RULES
from chartkit.values.lint.rules.invalid_value import InvalidValue
from chartkit.values.lint.rules.misplaced_feature import MisplacedFeature
from chartkit.values.lint.rules.moved_key import MovedKey
from chartkit.values.lint.rules.unknown_key import UnknownKey

Check = Callable[[ChartValues], Iterable[Diagnostic]]

VALUES_RULES: Final[tuple[Check, ...]] = tuple(rule.check_values for rule in RULES)
REFUSED_RULES: Final[tuple[Check, ...]] = tuple(rule.check_refused for rule in RULES)
RENDERED_RULES: Final[tuple[Check, ...]] = tuple(rule.check_rendered for rule in RULES)

_GENERAL: Final = frozenset({InvalidValue.id, UnknownKey.id})
OF_KEYS: Final = _GENERAL | {MisplacedFeature.id, MovedKey.id}
"""The ids of findings about one key, whatever the others are."""


def lint(subject: ChartValues, checks: Sequence[Check]) -> list[Diagnostic]:
    """Return all findings of the checks.

    Of a place about which a rule knows more than that the schema refuses it or the chart has no
    such key, only that rule's finding.
    """
    found = [diagnostic for check in checks for diagnostic in check(subject)]
    explained = {each.location for each in found if each.rule_id not in _GENERAL}
    return [
        each for each in found if each.rule_id not in _GENERAL or each.location not in explained
    ]


__all__ = ["OF_KEYS", "REFUSED_RULES", "RENDERED_RULES", "VALUES_RULES", "ChartValues", "lint"]
