"""An object as Kyverno takes it from a file: with its namespace, and without null objects."""

from __future__ import annotations

from typing import Final

from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE, UNKNOWN, CustomNames, in_namespace
from chartkit.model import Body, Json, Resource

_OBJECTS: Final = frozenset(
    ("annotations", "labels", "matchLabels", "nodeSelector", "data", "stringData")
)
"""Fields that are objects; Helm charts write them with nothing below, which YAML reads as null."""


def as_submitted(
    resource: Resource, namespace: str = DEFAULT_NAMESPACE, custom: CustomNames = UNKNOWN
) -> Resource:
    """The object in a namespace (where it is of a namespaced kind and names none itself), every
    null among its labels, annotations, selectors and data an empty object. The one that came in
    stays as it was. custom: kinds whose scope is known by their definitions."""
    placed = in_namespace(resource, namespace, custom)
    body = _filled(placed.body)
    return placed if body is placed.body else Resource(body, placed.location)


def _filled(value: Json) -> Json:
    """The value without nulls where objects belong; the very same where there are none."""
    if isinstance(value, dict):
        changed: Body = {}
        for key, entry in value.items():
            if entry is None:
                if key in _OBJECTS:
                    changed[key] = {}
            elif isinstance(entry, dict | list):
                filled = _filled(entry)
                if filled is not entry:
                    changed[key] = filled
        return {**value, **changed} if changed else value
    if isinstance(value, list):
        entries = [_filled(entry) if isinstance(entry, dict) else entry for entry in value]
        same = all(new is old for new, old in zip(entries, value, strict=True))
        return value if same else entries
    return value
