"""The patterns and overlays of a ClusterPolicy, and their values with the types of the fields that
they are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chartkit.catalog.policy_lint.expressions import Typed, request_of, typed
from chartkit.catalog.policy_lint.kind_types import (
    ANY,
    Types,
    element_types,
    field_types,
    is_object,
    kinds_selected,
    types_of,
)
from chartkit.engine.cluster_policy.pattern.build import AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.kubernetes.field_faults import LIST
from chartkit.model import Body, FieldPath, Json, list_of, mapping_at, mappings_at, text_of

_OVERLAY: Final = "patchStrategicMerge"
_NOT_NAMES = ("*", "?", "$", "{{", "(", ")")
"""Parts of keys that name no single field: wildcards, variables, directives of patches, halves of
anchors."""


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
        named = [(text_of(row.get("apiVersion")), text_of(row.get("kind"))) for row in targets]
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


Steps = tuple[str, ...]
"""The names of fields from the object down; `[]` for elements of a list."""


def field_text(steps: Steps) -> str:
    """Return a field as text: `spec.containers[].image`."""
    return ".".join(steps).replace(".[]", "[]")


@dataclass(frozen=True, slots=True)
class PatternValue:
    """A value in a pattern with the field that it is compared with.

    path: in the policy; steps: of the field in the object; types: none for a field that no kind
    has; owner: the types of the object with the field; anchor: of its key.
    """

    path: FieldPath
    steps: Steps
    value: Json
    types: Types
    owner: Types
    anchor: AnchorKind | None = None


def values_of(part: PatternPart) -> Iterator[PatternValue]:
    """Yield every value of a pattern whose field can be named; none below a field of unknown type,
    and none of a rule that matches custom kinds."""
    # The types of what a pattern is compared with: the elements of the innermost loop, or the whole
    # object.
    element = whole = types_of(kinds_selected(part.kinds))
    names = {"request": request_of(whole)}
    for loop in part.loops:
        listed, _ = typed(text_of(loop.get("list")), names)
        element = element_types(listed.types) or ANY
        names["element"] = Typed(element)
        element = whole if loop.get("elementScope") is False else element
    yield from _below(PatternValue(part.path, (), part.value, element, ANY))


def _below(parent: PatternValue) -> Iterator[PatternValue]:
    value, types = parent.value, parent.types
    if types == ANY or not types:
        return
    if isinstance(value, list):
        inner = element_types(types)
        for index, member in enumerate(value):
            path, steps = (*parent.path, index), (*parent.steps, "[]")
            value = PatternValue(path, steps, member, inner, types)
            yield value
            yield from _below(value)
        return
    objects = frozenset(filter(is_object, types))
    for key, member in value.items() if isinstance(value, dict) and objects else ():
        anchor = parse_anchor(key)
        name = key if anchor is None else anchor.key
        if any(mark in name for mark in _NOT_NAMES):
            continue
        inner = field_types(types, name)
        kind = None if anchor is None else anchor.kind
        path, steps = (*parent.path, key), (*parent.steps, name)
        value = PatternValue(path, steps, member, inner, objects, kind)
        yield value
        yield from _below(value)


def is_list(types: Types) -> bool:
    """Report whether a value is a list, whatever kind matches."""
    return bool(types) and all(name.startswith(LIST) for name in types)
