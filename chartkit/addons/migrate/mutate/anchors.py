"""The anchors of a strategic merge, and what is left of a patch without them."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.verdict import disjunction
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cluster_policy.mutate.anchors import ADDITION, HANDLED, has_anchors
from chartkit.engine.cluster_policy.pattern.anchors import Anchor, AnchorKind, parse_anchor
from chartkit.model import Body, Json


def anchor_of(written: str) -> Anchor | None:
    """Return the anchor of a key, None for a plain one; raises `NotConvertible` for an anchor that
    means nothing in a patch."""
    if "{{" in written:
        raise NotConvertible("a variable in a key of a patch")
    anchor = parse_anchor(written)
    if anchor is not None and anchor.kind not in HANDLED:
        raise NotConvertible(f"the anchor {written} in a patch")
    return anchor


def plain_key(written: str) -> str:
    """Return a key without its anchor."""
    anchor = anchor_of(written)
    return written if anchor is None else anchor.key


def has_additions(patch: Body) -> bool:
    """Return whether a patch has `+()` anchors, at any depth."""
    return has_anchors(patch, ADDITION)


def only_adds(patch: Json) -> bool:
    """Return whether a patch leaves nothing where all that its `+()` anchors add is there."""
    if not isinstance(patch, dict):
        return False
    anchors = {key: anchor_of(key) for key in patch}
    return all(
        anchor is not None or only_adds(patch[key]) for key, anchor in anchors.items()
    ) and has_additions(patch)


def lacks_additions(patch: Body, place: Place) -> Expr:
    """Return whether anything that `+()` anchors add is not there."""
    tests: list[Expr] = []
    for written, value in patch.items():
        anchor = anchor_of(written)
        if anchor is None:
            tests.append(lacks_additions(value, place.child(written)))
        elif anchor.kind is AnchorKind.ADDITION:
            tests.append(cel.negate(place.child(anchor.key).is_present()))
    return disjunction(*tests)


def parts(value: Json) -> Iterator[Json]:
    """Return a part of a patch and those below it, lists as a whole."""
    yield value
    if isinstance(value, dict):
        for each in value.values():
            yield from parts(each)


def added(value: Json) -> Json:
    """Return what `+()` anchors add where nothing is there: the anchors within it go, too."""
    if isinstance(value, dict):
        return {plain_key(key): added(each) for key, each in value.items()}
    if isinstance(value, list):
        if has_anchors(value, HANDLED):
            raise NotConvertible("anchors in a list under an anchor +()")
        return value
    return value


def reduced(value: Json) -> Json:
    """Return a part of a patch as Kyverno leaves it: without empty objects; None for nothing."""
    if isinstance(value, dict):
        kept = {key: each for key, old in value.items() if (each := reduced(old)) is not None}
        return kept or None
    return value
