"""Checks of values and rendered charts: one rule, one function, one id.

A new rule is one function of a `Subject` and one line in a table here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from chartkit.lint.apis import monitors_without_definition, objects_without_definition
from chartkit.lint.keys import merged_violations, null_overrides, schema_violations
from chartkit.lint.ports import node_port_range, shared_node_ports
from chartkit.lint.subject import Subject
from chartkit.model import Diagnostic

Rule = Callable[[Subject], Iterable[Diagnostic]]

VALUES_RULES: Final[tuple[Rule, ...]] = (
    schema_violations,
    merged_violations,
    null_overrides,
    monitors_without_definition,
)
"""What is seen in the values alone, before Helm renders."""

RENDERED_RULES: Final[tuple[Rule, ...]] = (
    node_port_range,
    shared_node_ports,
    objects_without_definition,
)
"""What is seen in what Helm rendered."""


def lint(subject: Subject, rules: Sequence[Rule]) -> list[Diagnostic]:
    """Everything that the rules find."""
    return [diagnostic for rule in rules for diagnostic in rule(subject)]


__all__ = ["RENDERED_RULES", "VALUES_RULES", "Subject", "lint"]
