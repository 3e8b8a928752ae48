"""CK701: keys of patterns that are half an anchor."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.catalog.policy_lint.patterns import patterns_of
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.catalog.policy_lint.witness import pattern_tries, with_key, witness
from chartkit.engine.cluster_policy.pattern.anchors import parse_anchor
from chartkit.model import Diagnostic, values_below


class HalfAnchor(PolicyRule):
    id = "CK701"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        for part in patterns_of(subject.cluster_policy):
            for path, _ in values_below(part.value, part.path):
                key = path[-1]
                if (
                    not isinstance(key, str)
                    or "{{" in key
                    or not {"(", ")"} & set(key)
                    or parse_anchor(key) is not None
                ):
                    continue
                message = (
                    f"rule {part.rule.name}: '{key}' is not an anchor, and no field has this name"
                )
                name = key.strip("+<=X^() ")
                hint = f"write ({name}), =({name}) or another anchor in full, or '{name}' without "
                if not (part.is_overlay or part.loops):
                    tries = pattern_tries(part, (*path[:-1], name))
                    message += witness(subject, part.rule, with_key(subject, path, name), tries)
                yield self.finding(subject, path, message, f"{hint}brackets")
