"""Wildcards in the keys of labels and annotations: each stands for one key of the object."""

from __future__ import annotations

from collections.abc import Mapping

from chartkit.engine.pattern.anchors import Anchor, parse_anchor
from chartkit.engine.values.wildcard import compile_wildcard, has_wildcard
from chartkit.model import Body, Json

_TAGS = ("labels", "annotations")


def may_expand(pattern: Mapping[str, Json]) -> bool:
    """Whether an object could change the keys of a pattern's `metadata`."""
    _, metadata = _member("metadata", pattern)
    if not isinstance(metadata, dict):
        return False
    for tag in _TAGS:
        _, members = _member(tag, metadata)
        if isinstance(members, dict) and any(
            has_wildcard(key) or not isinstance(value, str) for key, value in members.items()
        ):
            return True
    return False


def expand(pattern: Body, value: Mapping[str, Json]) -> Body:
    """The pattern with the wildcards in its `metadata` replaced by the object's own keys.

    Members of labels and annotations that are no text drop out where the object has such a map;
    Kyverno's `ExpandInMetadata` does the same. The pattern that came in is not changed.
    """
    metadata_key, metadata = _member("metadata", pattern)
    own = value.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(own, dict):
        return pattern
    expanded = dict(metadata)
    for tag in _TAGS:
        key, members = _member(tag, metadata)
        _, own_members = _member(tag, own)
        if isinstance(members, dict) and isinstance(own_members, dict):
            texts = {k: v for k, v in own_members.items() if isinstance(v, str)}
            expanded[key] = _expanded(members, texts)
    return {**pattern, metadata_key: expanded}


def _expanded(members: Mapping[str, Json], own: Mapping[str, str]) -> Body:
    result: Body = {}
    for key, value in members.items():
        if isinstance(value, str):
            result[_expanded_key(key, own)] = value
    return result


def _expanded_key(key: str, own: Mapping[str, str]) -> str:
    if not has_wildcard(key):
        return key
    anchor = parse_anchor(key)
    matches = compile_wildcard(anchor.key if anchor else key)
    found = next((each for each in own if matches(each)), None)
    if found is None:
        return key if anchor is None else str(anchor)
    return found if anchor is None else str(Anchor(anchor.modifier, found))


def _member(name: str, members: Mapping[str, Json]) -> tuple[str, Json]:
    """The member of that name, plain or anchored, and its key."""
    if name in members:
        return name, members[name]
    for key, value in members.items():
        anchor = parse_anchor(key)
        if anchor is not None and anchor.key == name:
            return key, value
    return "", None
