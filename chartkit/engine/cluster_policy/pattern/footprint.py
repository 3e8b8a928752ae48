"""The part of a value that a pattern looks at."""

from __future__ import annotations

from chartkit.engine.cluster_policy.pattern.anchors import AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.pattern.build import Spot
from chartkit.engine.cluster_policy.pattern.objects import expansion_of
from chartkit.engine.footprint import Footprint
from chartkit.model import Body, Json


def read_pattern(pattern: Json, value: Footprint) -> None:
    """Note what a pattern looks at in a value."""
    if isinstance(pattern, dict):
        _object(pattern, value)
    elif isinstance(pattern, list) and pattern and all(isinstance(one, dict) for one in pattern):
        for each in pattern:
            read_pattern(each, value.element())
    else:
        value.is_whole = True


def _object(pattern: Body, value: Footprint) -> None:
    if expansion_of(pattern, Spot()) is not None:
        # Wildcards stand for keys that are there.
        value.member("metadata").is_whole = True
    for written, inner in pattern.items():
        if "{{" in written:
            value.is_whole = True
        anchor = parse_anchor(written)
        if anchor is None or anchor.kind is AnchorKind.ADDITION:
            member = value.member(written)
            if inner != "*":
                read_pattern(inner, member)
            continue
        # The fields of a failure name the members of what must not be there.
        forbids = anchor.kind is AnchorKind.NEGATION
        read_pattern(None if forbids else inner, value.member(anchor.key))
