"""The patterns of a ClusterPolicy: what validate rules compare objects with, and overlays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.model import Body, FieldPath, Json, list_of, mapping_at, mappings_at, text_of

_OVERLAY: Final = "patchStrategicMerge"


@dataclass(frozen=True, slots=True)
class PatternPart:
    """A pattern, or an overlay (`patchStrategicMerge`), of a rule.

    path: in the policy; loops: the `foreach` entries around it, the outermost first, for a pattern
    that is compared with their elements.
    """

    rule: Rule
    path: FieldPath
    value: Json
    is_overlay: bool = False
    loops: tuple[Body, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The selectors of the kinds that it is about: those that the rule matches, or its targets;
        none where the kind of a target is unknown."""
        targets = mappings_at(self.rule.body, "mutate", "targets") if self.is_overlay else []
        if not targets:
            return self.rule.match.kinds
        named = [(text_of(each.get("apiVersion")), text_of(each.get("kind"))) for each in targets]
        return tuple(map("/".join, named)) if all(map(all, named)) else ()


def patterns_of(policy: Policy | None) -> Iterator[PatternPart]:
    """Yield every pattern and overlay of every rule, as written."""
    for index, rule in enumerate(policy.rules if policy is not None else ()):
        path: FieldPath = ("spec", "rules", index)
        validate = mapping_at(rule.body, "validate")
        yield from _compared(rule, (*path, "validate"), validate, ())
        mutate = mapping_at(rule.body, "mutate")
        yield from _overlays(rule, (*path, "mutate"), mutate)


def _compared(
    rule: Rule, path: FieldPath, block: Body, loops: tuple[Body, ...]
) -> Iterator[PatternPart]:
    if block.get("pattern") is not None:
        yield PatternPart(rule, (*path, "pattern"), block["pattern"], loops=loops)
    for at, pattern in enumerate(list_of(block.get("anyPattern"))):
        yield PatternPart(rule, (*path, "anyPattern", at), pattern, loops=loops)
    for at, loop in enumerate(mappings_at(block, "foreach")):
        yield from _compared(rule, (*path, "foreach", at), loop, (*loops, loop))


def _overlays(rule: Rule, path: FieldPath, block: Body) -> Iterator[PatternPart]:
    if block.get(_OVERLAY) is not None:
        yield PatternPart(rule, (*path, _OVERLAY), block[_OVERLAY], is_overlay=True)
    for at, loop in enumerate(mappings_at(block, "foreach")):
        yield from _overlays(rule, (*path, "foreach", at), loop)
