"""Checks of values and rendered charts: one rule, one function, one id.

A new rule is one function of a `Subject` and one line in a table here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from chartkit.model import Diagnostic
from chartkit.schemas.json_schema import RULE_ID
from chartkit.values.lint.apis import (
    monitors_without_definition,
    monitors_without_word,
    objects_without_definition,
)
from chartkit.values.lint.exposure import (
    cleanup_off,
    metrics_by_load_balancer,
    metrics_by_node_port,
)
from chartkit.values.lint.features import misplaced_features
from chartkit.values.lint.filters import (
    filters_taken_out,
    kube_system_fails_closed,
    webhooks_as_list,
)
from chartkit.values.lint.keys import merged_violations, null_overrides, schema_violations
from chartkit.values.lint.moved import moved_keys
from chartkit.values.lint.ports import node_port_range, shared_node_ports
from chartkit.values.lint.scaling import scaler_below_minimum, two_admission_replicas
from chartkit.values.lint.subject import Subject
from chartkit.values.lint.unknown import UNKNOWN_KEY, unknown_keys

Rule = Callable[[Subject], Iterable[Diagnostic]]

VALUES_RULES: Final[tuple[Rule, ...]] = (
    schema_violations,
    merged_violations,
    unknown_keys,
    null_overrides,
    monitors_without_definition,
    filters_taken_out,
    misplaced_features,
    webhooks_as_list,
    scaler_below_minimum,
    moved_keys,
    metrics_by_node_port,
    metrics_by_load_balancer,
    kube_system_fails_closed,
    cleanup_off,
)
"""What is seen in the values alone, before Helm renders."""

REFUSED_RULES: Final[tuple[Rule, ...]] = (two_admission_replicas,)
"""What the engine's templates refuse, with the place that they cannot name."""

_GENERAL: Final = frozenset({RULE_ID, UNKNOWN_KEY})

RENDERED_RULES: Final[tuple[Rule, ...]] = (
    node_port_range,
    shared_node_ports,
    objects_without_definition,
    monitors_without_word,
)
"""What is seen in what Helm rendered."""


def lint(subject: Subject, rules: Sequence[Rule]) -> list[Diagnostic]:
    """Everything that the rules find; where one knows more of a place than that the schema
    refuses it or the chart has no such key, that one alone."""
    found = [diagnostic for rule in rules for diagnostic in rule(subject)]
    explained = {each.location for each in found if each.rule_id not in _GENERAL}
    return [
        each for each in found if each.rule_id not in _GENERAL or each.location not in explained
    ]


__all__ = ["REFUSED_RULES", "RENDERED_RULES", "VALUES_RULES", "Subject", "lint"]
