"""CK710: conditions that are always or never true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.engine.cluster_policy.unmatched import condition_blocks
from chartkit.model import Body, Diagnostic, Json, mappings_at, text_of

_IN: Final = frozenset({"In", "AnyIn"})
_TOGETHER: Final = {
    "any": (frozenset({"NotEqual", "NotEquals"}), "always"),
    "all": (frozenset({"Equal", "Equals"}), "never"),
}


class ConstantCondition(PolicyRule):
    id = "CK710"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for here, rule in subject.rules:
            for path, block in condition_blocks(rule.body, here):
                for key in _TOGETHER if "attestations" not in path else ():
                    for at, text, hint in _faults(key, mappings_at(block, key)):
                        message = f"rule {rule.name}: {text}"
                        yield self.finding(subject, (*path, key, at), message, hint)


def _faults(key: str, conditions: Sequence[Body]) -> Iterator[tuple[int, str, str]]:
    """Yield the index of a condition, what is wrong with it, and a hint."""
    seen: dict[str, Json] = {}
    for at, condition in enumerate(conditions):
        left, right, operator = (condition.get(name) for name in ("key", "value", "operator"))
        if not ("{{" in str(left) or "{{" in str(right)):
            hint = f"write {{{{ {left} }}}}" if text_of(left).startswith("request.") else None
            yield at, f"compares the constants {left!r} and {right!r}", hint or "name a field"
        elif right == [] and operator in _IN:
            yield at, f"{operator} of no elements is never true", "name elements"
        operators, effect = _TOGETHER[key]
        is_exact = operator in operators and isinstance(left, str) and _is_constant(right)
        if is_exact and seen.setdefault(str(left), right) != right:
            text = f"with a condition before it, this is {effect} true for any {left}"
            yield at, text, f"use {'AnyNotIn' if key == 'any' else 'AnyIn'} and a list"


def _is_constant(value: Json) -> bool:
    return isinstance(value, bool | int | float) or (
        isinstance(value, str) and not any(mark in value for mark in ("{{", "*", "?", "$("))
    )
