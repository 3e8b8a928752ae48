"""Takes out of a patch the anchors that hold, and what is empty without them."""

from __future__ import annotations

from chartkit.engine.cluster_policy.mutate.keys import (
    CONDITIONS,
    HANDLED,
    anchored,
    has_anchors,
    is_condition,
    rename,
    take,
)
from chartkit.engine.json_patch.nodes import PatchError, expect_object
from chartkit.model import Body, Json


def remove_top_anchors(patch: Json) -> None:
    """Takes them out of a whole patch; raises `PatchError` for one that is no object."""
    expect_object(patch)
    for key in list(patch or ()):
        if remove_anchors(patch[key], is_condition(key)):
            del patch[key]


def remove_anchors(value: Json, is_anchored: bool) -> bool:
    """Takes them out of a part of a patch; true where nothing of the part is left.

    is_anchored: whether it stands under an anchor, so that a scalar is none of the patch.
    """
    if isinstance(value, dict):
        return _remove_from_object(value)
    if isinstance(value, list):
        return _remove_from_list(value)
    return is_anchored


def _remove_from_object(patch: Body) -> bool:
    left = False
    for anchor in anchored(patch, CONDITIONS):
        if remove_anchors(take(patch, anchor), True):
            del patch[str(anchor)]
        else:
            left = True
    if left:
        for anchor in anchored(patch, CONDITIONS):
            rename(patch, str(anchor), anchor.key)
    for key in list(patch):
        if remove_anchors(patch[key], False):
            del patch[key]
    return not patch


def _remove_from_list(patch: list[Json]) -> bool:
    was_empty = not patch
    # Kyverno counts on while elements go: what it takes out is not always what it looked at.
    for index, element in enumerate(list(patch)):
        if has_anchors(element, HANDLED) or remove_anchors(element, False):
            if index >= len(patch):
                raise PatchError("the list loses more elements to anchors than it has")
            del patch[index]
    return not patch and not was_empty
