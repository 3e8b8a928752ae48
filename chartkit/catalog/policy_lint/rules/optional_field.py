"""CK708: optional fields in patterns that become required for want of an anchor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.catalog.policy_lint.patterns import PatternPart, patterns_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.catalog.policy_lint.shapes import PatternValue, field_text, is_list, values_of
from chartkit.catalog.policy_lint.witness import with_key, witness
from chartkit.engine.cluster_policy.pattern.anchors import AnchorKind, parse_anchor
from chartkit.engine.kubernetes.field_faults import fields_of
from chartkit.model import Diagnostic, Json

_NEVER_REQUIRED: Final = frozenset({"initContainers", "ephemeralContainers"})
"""Lists that no policy requires an object to have."""
_IF_PRESENT: Final = frozenset({AnchorKind.EQUALITY, AnchorKind.NEGATION, AnchorKind.CONDITION})


class OptionalField(PolicyRule):
    id = "CK708"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for part in patterns_of(subject.cluster_policy):
            if part.is_overlay or part.loops or "anyPattern" in part.path:
                continue
            for value in values_of(part):
                if _is_optional(value):
                    yield self._required(subject, part, value)

    def _required(self, subject: Subject, part: PatternPart, value: PatternValue) -> Diagnostic:
        key, field = value.steps[-1], field_text(value.steps)
        message = f"rule {part.rule.name}: an object without {field} is refused"
        corrected = with_key(subject, value.path, f"=({key})")
        message += witness(subject, part.rule, corrected, lambda _: [((), None)])
        return self.finding(subject, value.path, message, f"write =({key})")


def _is_optional(value: PatternValue) -> bool:
    """Report whether a value is a list without an anchor that only restricts elements."""
    if value.anchor is not None or not isinstance(value.value, list) or not is_list(value.types):
        return False
    if "[]" not in value.steps and value.steps[-1] in _NEVER_REQUIRED:
        return True
    name = value.steps[-1]
    fields = [fields_of(owner).get(name) for owner in value.owner]
    is_required = any(field is not None and field.required for field in fields)
    return not is_required and bool(value.value) and all(map(_only_restricts, value.value))


def _only_restricts(element: Json) -> bool:
    if not isinstance(element, dict) or not element:
        return False
    anchors = [parse_anchor(key) for key in element]
    return all(anchor is not None and anchor.kind in _IF_PRESENT for anchor in anchors)
