"""The anchors that patches know: `( )`, `<( )` and `+( )`. All others are plain keys."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from chartkit.engine.cluster_policy.pattern.anchors import Anchor, AnchorKind, parse_anchor
from chartkit.engine.json_patch.nodes import PatchError, SecondKey
from chartkit.model import Body, Json

CONDITIONS: Final = frozenset({AnchorKind.CONDITION, AnchorKind.GLOBAL})
"""Anchors that decide whether the patch applies."""

HANDLED: Final = CONDITIONS | {AnchorKind.ADDITION}
"""Anchors that mean something in a patch."""

GLOBAL: Final = frozenset({AnchorKind.GLOBAL})

CONDITION: Final = frozenset({AnchorKind.CONDITION})

ADDITION: Final = frozenset({AnchorKind.ADDITION})


def anchored(patch: Body, kinds: AbstractSet[AnchorKind]) -> list[Anchor]:
    """The anchors of some kinds among an object's keys, in order."""
    found = [parse_anchor(key) for key in patch if ")" in key]
    return [anchor for anchor in found if anchor is not None and anchor.kind in kinds]


def plain_keys(patch: Body) -> list[str]:
    """The keys that are no anchors here."""
    return [key for key in patch if ")" not in key or not _is(key, HANDLED)]


def take(patch: Body, anchor: Anchor) -> Json:
    """The value under an anchor; raises `PatchError` where it is written with spaces around it,
    which Kyverno does not survive."""
    key = str(anchor)
    if key not in patch:
        raise PatchError(f"the anchor {key} must be written without spaces around it")
    return patch[key]


def rename(patch: Body, old: str, new: str) -> None:
    """Gives a key another name, in its place; of two that are equal then, the first counts."""
    if old not in patch:
        return
    members: list[tuple[str, Json]] = []
    taken = False
    for key, value in patch.items():
        if key in (old, new):
            members.append((SecondKey(new) if taken else new, value))
            taken = True
        else:
            members.append((key, value))
    patch.clear()
    patch.update(members)


def has_anchors(patch: Json, kinds: AbstractSet[AnchorKind]) -> bool:
    """Return whether a patch holds anchors of some kinds, at any depth.

    A text that looks like a condition counts as one, wherever it stands.
    """
    if isinstance(patch, dict):
        for key, member in patch.items():
            if ")" in key and _is(key, kinds):
                return True
            if member.__class__ is str:
                if ")" in member and is_condition(member):
                    return True
            elif has_anchors(member, kinds):
                return True
        return False
    if isinstance(patch, list):
        return any(has_anchors(element, kinds) for element in patch)
    return isinstance(patch, str) and is_condition(patch)


def is_condition(text: str) -> bool:
    """Return whether a key (or a text) is a `( )` or `<( )` anchor."""
    return _is(text, CONDITIONS)


def _is(key: str, kinds: AbstractSet[AnchorKind]) -> bool:
    anchor = parse_anchor(key)
    return anchor is not None and anchor.kind in kinds
