"""Wildcards in the keys of `metadata.labels` and `metadata.annotations` of a pattern.

Before an object is compared, such a key becomes the first key of the object that it matches; one
that matches none stays as it is (`ExpandInMetadata` in Kyverno's `pkg/engine/wildcards`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from chartkit.engine.cluster_policy.pattern.anchors import Anchor, parse_anchor
from chartkit.engine.cluster_policy.pattern.build import Run, Spot
from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.model import Body, Json

_TAGS: Final = ("labels", "annotations")


def expansion_of(pattern: Body, spot: Spot) -> Expansion | None:
    """Return the replacements of an object pattern's label keys; None if there are none."""
    written, metadata = _entry(pattern, "metadata")
    if not isinstance(metadata, dict):
        return None
    if not any(_is_replaced(_entry(metadata, tag)[1]) for tag in _TAGS):
        return None
    return Expansion(written, metadata, (*spot.position, written))


def _is_replaced(labels: Json) -> bool:
    if not isinstance(labels, dict):
        return False
    return any(has_wildcard(key) or not isinstance(labels[key], str) for key in labels)


class Expansion(NamedTuple):
    """The `metadata` of an object pattern: its key as written, its value, its place."""

    written: str
    metadata: Body
    position: tuple[str, ...]

    def expand(self, resource: Body, run: Run) -> tuple[Body, object]:
        """The metadata pattern for an object, and what tells it apart from others.

        What was replaced for one element of a list stays replaced for the next.
        """
        metadata = run.metadata.get(self.position, self.metadata)
        found = resource.get("metadata")
        if isinstance(found, dict):
            for tag in _TAGS:
                key, labels = _entry(metadata, tag)
                given = _texts(_entry(found, tag)[1])
                if isinstance(labels, dict) and given is not None:
                    metadata = {**metadata, key: _replaced(labels, given)}
            run.metadata[self.position] = metadata
        return metadata, tuple(map(_identity, (_entry(metadata, tag)[1] for tag in _TAGS)))


def _identity(labels: Json) -> object:
    if not isinstance(labels, dict) or not all(isinstance(one, str) for one in labels.values()):
        # Only labels as they were written hold anything but texts.
        return None
    return tuple(labels.items())


def _entry(value: Body, name: str) -> tuple[str, Json]:
    """The key of that name, anchored or not, and its value."""
    if name in value:
        return name, value[name]
    for key in value:
        anchor = parse_anchor(key)
        if anchor is not None and anchor.key == name:
            return key, value[key]
    return "", None


def _texts(labels: Json) -> dict[str, str] | None:
    if not isinstance(labels, dict):
        return None
    return {key: value for key, value in labels.items() if isinstance(value, str)}


def _replaced(labels: Body, given: dict[str, str]) -> Body:
    replaced = {}
    for key, value in labels.items():
        if isinstance(value, str):
            replaced[_replaced_key(key, given) if has_wildcard(key) else key] = value
    return replaced


def _replaced_key(key: str, given: dict[str, str]) -> str:
    anchor = parse_anchor(key)
    if anchor is None:
        return _matching(key, given)
    return str(Anchor(anchor.kind, _matching(anchor.key, given)))


def _matching(wildcard: str, given: dict[str, str]) -> str:
    matches = compile_wildcard(wildcard)
    return next(filter(matches, given), wildcard)
