"""CK709: operators in patterns that hold for other values than the text says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.catalog.policy_lint.patterns import PatternPart, patterns_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.catalog.policy_lint.shapes import PatternValue, field_text, values_of
from chartkit.catalog.policy_lint.witness import passing_without
from chartkit.engine.cluster_policy.pattern.scalar import (
    ORDERS,
    Range,
    compile_scalar,
    read_alternatives,
    read_operation,
)
from chartkit.engine.context.variables.syntax import has_reference
from chartkit.go.duration import duration_or_none
from chartkit.go.quantity import quantity_or_none
from chartkit.model import Diagnostic, texts_below

_LESS: Final = re.compile(r"\s*<")


class PatternOperation(PolicyRule):
    id = "CK709"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for part in patterns_of(subject.cluster_policy):
            if part.is_overlay:
                continue
            for path, text in texts_below(part.value, part.path):
                if fault := _fault(text):
                    message = f"rule {part.rule.name}: {fault[0]}"
                    yield self.finding(subject, path, message, fault[1])
            for value in values_of(part) if not part.loops else ():
                yield from self._missing(subject, part, value)

    def _missing(
        self, subject: Subject, part: PatternPart, value: PatternValue
    ) -> Iterator[Diagnostic]:
        text = value.value
        if not isinstance(text, str) or not _LESS.match(text) or value.anchor is not None:
            return
        if "{{" in text or not compile_scalar(text)(None):
            return
        if shown := passing_without(subject, part.rule, value.steps):
            field = field_text(value.steps)
            message = f"rule {part.rule.name}: '{text}' holds without {field}{shown}"
            yield self.finding(subject, value.path, message, f"write '>0 & {text.strip()}'")


def _fault(text: str) -> tuple[str, str] | None:
    """Return what is wrong with the operators of a pattern's text, with a hint."""
    if "{{" in text or has_reference(text):
        return None
    for operation in (read_operation(part) for both in read_alternatives(text) for part in both):
        if isinstance(operation, Range):
            continue
        prefix, operand = operation
        inner = read_operation(operand) if prefix else operation
        if isinstance(inner, Range) and not inner.excludes and prefix == "!":
            hint = f"write {inner.low}!-{inner.high} for what is outside of the range"
            return f"'{text}' holds for every number: it negates the text '{operand}'", hint
        if prefix in ORDERS and not _is_measure(operand):
            return f"'{text}' never holds: '{operand}' is not a number, quantity or duration", ""
    return None


def _is_measure(text: str) -> bool:
    return duration_or_none(text) is not None or quantity_or_none(text) is not None
