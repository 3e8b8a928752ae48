"""The fields that a pattern names, each with the types that it has in the matched kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chartkit.catalog.policy_lint.kind_types import (
    ANY,
    Types,
    element_types,
    field_types,
    is_object,
)
from chartkit.catalog.policy_lint.patterns import PatternPart
from chartkit.catalog.policy_lint.queries import element_of
from chartkit.engine.cluster_policy.pattern.anchors import AnchorKind, parse_anchor
from chartkit.engine.kubernetes.field_faults import LIST
from chartkit.model import FieldPath, Json

Steps = tuple[str, ...]
"""The names of fields from the object down; `[]` for elements of a list."""


def field_text(steps: Steps) -> str:
    """Return a field as text: `spec.containers[].image`."""
    return ".".join(steps).replace(".[]", "[]")


def field_steps(text: str) -> Steps:
    """Return the steps of a field in a text, as `field_text` writes it."""
    return tuple(text.replace("[]", ".[]").split("."))


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
    """Yield every value of a pattern whose field can be named; none below a field of which nothing
    is known, and none of a rule that matches other kinds than Kubernetes' own."""
    yield from _below(PatternValue(part.path, (), part.value, element_of(part), ANY))


def _below(parent: PatternValue) -> Iterator[PatternValue]:
    value, types = parent.value, parent.types
    if types == ANY or not types:
        return
    if isinstance(value, list):
        inner = element_types(types)
        for index, member in enumerate(value):
            path, steps = (*parent.path, index), (*parent.steps, "[]")
            found = PatternValue(path, steps, member, inner, types)
            yield found
            yield from _below(found)
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
        found = PatternValue(path, steps, member, inner, objects, kind)
        yield found
        yield from _below(found)


_NOT_NAMES = ("*", "?", "$", "{{", "(", ")")
"""Parts of keys that name no single field: wildcards, variables, directives of patches, halves of
anchors."""


def is_list(types: Types) -> bool:
    """Report whether a value is a list, whatever kind matches."""
    return bool(types) and all(each.startswith(LIST) for each in types)
