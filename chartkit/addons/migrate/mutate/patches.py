"""Strategic merge patches as they are written: anchors, and what is left without them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from chartkit.addons.migrate.conditions import is_error
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import UNREAD_ANCHORS, UNUSED_VARIABLES
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.expressions.verdict import disjunction
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.texts import term_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.mutate.anchors import (
    ADDITION,
    CONDITIONS,
    HANDLED,
    has_anchors,
)
from chartkit.engine.cluster_policy.pattern.build import Anchor, AnchorKind, parse_anchor
from chartkit.engine.context.variables import has_variable
from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_custom
from chartkit.model import Body, Json, leaves

_DIRECTIVE: Final = "$patch"


def anchor_of(written: str) -> Anchor | None:
    """Return the anchor of a key, None for a plain one; raises `NotConvertible` for a variable."""
    if "{{" in written:
        raise NotConvertible("a variable in a key of a patch")
    return parse_anchor(written)


def plain_key(written: str) -> str:
    """Return a key without its anchor."""
    anchor = anchor_of(written)
    return written if anchor is None else anchor.key


def require_object(patch: Json) -> Body:
    """Return a part of a patch that writes each member once; raises `NotConvertible`."""
    if not isinstance(patch, dict):
        raise NotConvertible("a patch that is not an object", "mutate")
    if _DIRECTIVE in patch:
        raise NotConvertible("a patch with a directive, $patch")
    anchors = {written: parse_anchor(written) for written in patch}
    keys = [
        written if anchor is None else anchor.key
        for written, anchor in anchors.items()
        if anchor is None or anchor.kind not in CONDITIONS
    ]
    if len(set(keys)) < len(keys):
        raise NotConvertible("a key of a patch that is there twice, with an anchor and without")
    return patch


def note_unused(patch: Json, names: Names) -> None:
    """Note variables that may name nothing, in a patch whose anchors may keep them from use."""
    parts_of = [(path, str(value)) for path, value in leaves(patch)]
    if not any(_may_miss(str(key), text) for path, text in parts_of for key in path):
        return
    if any(is_error(term_of(text, names), names) for _, text in parts_of if has_variable(text)):
        names.note(UNUSED_VARIABLES)


def _may_miss(key: str, wanted: str) -> bool:
    """Report whether a key has an anchor that may not be met; wanted: the value below it."""
    anchor = parse_anchor(key) if "{{" not in key else None
    if anchor is None or anchor.kind not in HANDLED:
        return False
    return anchor.key != "name" or not (wanted == "*" or has_variable(wanted))


def has_additions(patch: Body) -> bool:
    """Report whether a patch has `+()` anchors, at any depth."""
    return has_anchors(patch, ADDITION)


def only_adds(patch: Json) -> bool:
    """Report whether a patch leaves nothing where all that its `+()` anchors add is there."""
    if not isinstance(patch, dict):
        return False
    anchors = {key: anchor_of(key) for key in patch}
    return all(
        anchor is not None or only_adds(patch[key]) for key, anchor in anchors.items()
    ) and has_additions(patch)


def lacks_additions(patch: Body, place: Place) -> Expr:
    """Report whether anything that `+()` anchors add is not there."""
    tests: list[Expr] = []
    for written, value in patch.items():
        anchor = anchor_of(written)
        if anchor is None:
            tests.append(lacks_additions(value, place.child(written)))
        elif anchor.kind is AnchorKind.ADDITION:
            tests.append(cel.negate(place.child(anchor.key).is_present()))
    return disjunction(*tests)


def parts(value: Json) -> Iterator[Json]:
    """Return a part of a patch and those below it, lists as a whole; the conditions of anchors are
    no parts."""
    yield value
    if isinstance(value, dict):
        for written, part in value.items():
            anchor = anchor_of(written)
            if anchor is None or anchor.kind not in CONDITIONS:
                yield from parts(part)


def without_unread(patch: Json, names: Names, kinds: Collection[GroupVersionKind]) -> Json:
    """Return a patch without the keys whose anchors mean nothing in one: Kyverno writes such a key
    as it stands, and no API server keeps it of its own kinds.

    Raises `NotConvertible` where others are among the kinds.
    """
    if isinstance(patch, list):
        return [without_unread(element, names, kinds) for element in patch]
    if not isinstance(patch, dict):
        return patch
    kept: Body = {}
    for written, part in patch.items():
        anchor = parse_anchor(written)
        if anchor is not None and anchor.kind in CONDITIONS:
            kept[written] = part
        elif anchor is None or anchor.kind in HANDLED:
            kept[written] = without_unread(part, names, kinds)
        elif not kinds or any(map(is_custom, kinds)):
            raise NotConvertible(f"the anchor {written} in a patch")
        else:
            names.note(UNREAD_ANCHORS)
    return kept


def added(value: Json) -> Json:
    """Return what `+()` anchors add where nothing is there: the anchors within it go, too."""
    if isinstance(value, dict):
        return {plain_key(key): added(item) for key, item in value.items()}
    if isinstance(value, list):
        if has_anchors(value, HANDLED):
            raise NotConvertible("anchors in a list under an anchor +()")
        return value
    return value


def reduced(value: Json) -> Json:
    """Return a part of a patch as Kyverno leaves it: without empty objects; None for nothing.

    Raises `NotConvertible` for null, which removes what is there.
    """
    if isinstance(value, dict):
        if None in value.values():
            raise NotConvertible("null in an element of a list, or under an anchor +()")
        kept = {key: new for key, old in value.items() if (new := reduced(old)) is not None}
        return kept or None
    return value


def without_name(patch: Body) -> Body:
    """Return the patch of a foreach's element without the name by which it finds it."""
    for written, value in patch.items():
        if written in ("name", "(name)") and isinstance(value, str):
            inner = value.strip()
            if inner.startswith("{{") and inner.strip("{} ") == "element.name":
                return {key: item for key, item in patch.items() if key != written}
    raise NotConvertible("a foreach whose patch does not name its element")
