"""CK705: values in patterns that no value of their field's type can match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.catalog.policy_lint.kind_types import ANY, SCALARS, is_object
from chartkit.catalog.policy_lint.patterns import patterns_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.catalog.policy_lint.shapes import PatternValue, field_text, is_list, values_of
from chartkit.engine.cluster_policy.pattern.anchors import AnchorKind
from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.model import Diagnostic

_TEXT: Final = frozenset({"string"})
_BOOL: Final = frozenset({"bool"})


class PatternNeverMatches(PolicyRule):
    id = "CK705"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for part in patterns_of(subject.cluster_policy):
            for value in values_of(part):
                if value.anchor is AnchorKind.NEGATION or not value.types or value.types == ANY:
                    continue
                if fault := _fault(value, part.is_overlay):
                    text, hint = fault
                    message = f"rule {part.rule.name}: {field_text(value.steps)} is {text}"
                    yield self.finding(subject, value.path, message, hint)


def _fault(value: PatternValue, is_overlay: bool) -> tuple[str, str] | None:
    """Return what a field is, and the value is not, with a hint; None for what fits."""
    given, types = value.value, value.types
    if isinstance(given, dict):
        return None if any(map(is_object, types)) else (_named(value), "write no object here")
    if isinstance(given, list):
        fits = any(each.startswith("[]") for each in types)
        return None if fits else (_named(value), "write no list here")
    if given is None or types - SCALARS:
        return None
    if types == _TEXT and (isinstance(given, bool) or (is_overlay and not isinstance(given, str))):
        shown = str(given).lower()
        kind = "boolean" if isinstance(given, bool) else "number"
        return f"a text, and {shown} is a {kind}", "put the text in quotes"
    if types == _BOOL and isinstance(given, str) and "{{" not in given and "$(" not in given:
        holds = compile_scalar(given)
        if not (holds(True) or holds(False)):
            return f"a boolean, which '{given}' never matches", "write true or false"
    return None


def _named(value: PatternValue) -> str:
    if is_list(value.types):
        return "a list"
    return "an object" if any(map(is_object, value.types)) else f"a {' or '.join(value.types)}"
