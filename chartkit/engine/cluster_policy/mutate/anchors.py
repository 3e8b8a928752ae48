"""The part of a patch that is left for one object: its anchors are decided and removed.

The rules follow Kyverno's `pkg/engine/mutate/patch/strategicPreprocessing.go`.
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.pattern.build import Anchor, AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.pattern.match import Pattern, compile_pattern
from chartkit.engine.cluster_policy.pattern.scalar import literal
from chartkit.engine.json_patch import (
    MISSING,
    PatchError,
    SecondKey,
    copied,
    expect_list,
    expect_object,
    get_field,
    is_empty,
    scalar_text,
)
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
    anchors = [parse_anchor(key) for key in patch if ")" in key]
    return [anchor for anchor in anchors if anchor is not None and anchor.kind in kinds]


def plain_keys(patch: Body) -> list[str]:
    """The keys that are not anchors here."""
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
    """Report whether a patch holds anchors of some kinds, at any depth.

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
    """Report whether a key (or a text) is a `( )` or `<( )` anchor."""
    return _is(text, CONDITIONS)


def _is(key: str, kinds: AbstractSet[AnchorKind]) -> bool:
    anchor = parse_anchor(key)
    return anchor is not None and anchor.kind in kinds


def remove_anchors(value: Json, is_anchored: bool) -> bool:
    """Remove anchors from a part of a patch; true if nothing of the part is left.

    is_anchored: whether it is below an anchor, so that a scalar does not belong to the patch.
    """
    if isinstance(value, dict):
        left = False
        for anchor in anchored(value, CONDITIONS):
            if remove_anchors(take(value, anchor), True):
                del value[str(anchor)]
            else:
                left = True
        if left:
            for anchor in anchored(value, CONDITIONS):
                rename(value, str(anchor), anchor.key)
        for key in list(value):
            if remove_anchors(value[key], False):
                del value[key]
        return not value
    if isinstance(value, list):
        was_empty = not value
        # Kyverno counts on while elements go: what it takes out is not always what it looked at.
        for index, element in enumerate(list(value)):
            if has_anchors(element, HANDLED) or remove_anchors(element, False):
                if index >= len(value):
                    raise PatchError("the list loses more elements to anchors than it has")
                del value[index]
        return not value and not was_empty
    return is_anchored


_MOST_PATTERNS: Final = 1024
_AT_ONCE: Final = 8
"""The number of elements that are skipped in one step."""
_DECISION: Final = 20
"""Steps of an element whose anchors are decided."""
_FEW: Final = 8
"""The number of elements that are examined one by one."""
_ANCHORS: Final = "the anchors of a strategic merge"


class _UnmetError(PatchError):
    """A `( )` anchor that does not hold."""


class _GlobalUnmetError(PatchError):
    """A `<( )` anchor that does not hold."""


def applicable(patch: Json, resource: Json, budget: Budget, unmet: list[str] | None = None) -> Json:
    """The patch without its anchors, `{}` where their conditions do not hold; unmet: takes the one
    that does not, None unless it is needed.

    The patch that is given is changed. Raises `PatchError`.
    """
    try:
        _decide(patch, resource, budget)
        expect_object(patch)
        for key in list(patch or ()):
            if remove_anchors(patch[key], is_condition(key)):
                del patch[key]
    except (_UnmetError, _GlobalUnmetError) as error:
        if unmet is not None:
            unmet.append(error.message)
        return {}
    except PatchError as error:
        raise _undecided(error) from error
    return patch


def decide(patch: Json, resource: Json, budget: Budget) -> None:
    """Raises what `applicable` raises of a patch that has no anchors; nothing is changed."""
    try:
        _decide(patch, resource, budget)
    except PatchError as error:
        raise _undecided(error) from error


def _undecided(error: PatchError) -> PatchError:
    return PatchError(f"failed to preProcess rule: {error.message}")


def _decide(patch: Json, resource: Json, budget: Budget) -> None:
    if isinstance(patch, dict):
        _add_what_is_missing(patch, resource)
        _check_conditions(patch, resource, GLOBAL, _GlobalUnmetError)
        _check_conditions(patch, resource, CONDITION, _UnmetError)
        for key in plain_keys(patch):
            _decide(patch[key], get_field(resource, key), budget)
    elif isinstance(patch, list) and patch and isinstance(patch[0], dict):
        # Decides each element of a list of objects for every element of the object's list
        expect_list(resource)
        elements = resource if isinstance(resource, list) else []
        for part in list(patch):
            if not has_anchors(part, HANDLED):
                continue
            is_global = has_anchors(part, GLOBAL)
            tried = copied(part)
            unmet, met = None, False
            budget.spend(len(elements) // _AT_ONCE + 1, _ANCHORS)
            is_long = len(elements) > _FEW
            first = _first_condition(tried) if is_long else None
            for element in elements:
                if first is not None and _is_another(first, element):
                    continue
                budget.steps -= _DECISION
                try:
                    _decide(tried, element, budget)
                except _UnmetError:
                    continue
                except _GlobalUnmetError as error:
                    unmet = error.message
                    continue
                finally:
                    if is_long:
                        first = _first_condition(tried)
                met = met or is_global
                if not is_global:
                    _add_named(patch, tried, element)
            if resource is MISSING:
                try:
                    _decide(tried, MISSING, budget)
                except _UnmetError:
                    continue
                met = met or is_global
            if unmet is not None and not met:
                raise _GlobalUnmetError(unmet)


def _add_what_is_missing(patch: Json, resource: Json) -> bool:
    """Decides the `+( )` anchors of an object; whether there were any."""
    if not isinstance(patch, dict):
        return False
    anchors = anchored(patch, ADDITION)
    for anchor in anchors:
        if get_field(resource, anchor.key) is not MISSING:
            patch.pop(str(anchor), None)
        else:
            rename(patch, str(anchor), anchor.key)
    return bool(anchors)


def _check_conditions(
    patch: Body, resource: Json, kinds: AbstractSet[AnchorKind], unmet: type[PatchError]
) -> None:
    for anchor in anchored(patch, kinds):
        value = get_field(resource, anchor.key)
        if value is MISSING:
            raise unmet(f'could not found "{anchor.key}" key in the resource')
        wanted = take(patch, anchor)
        if _add_what_is_missing(wanted, value):
            continue
        if _pattern(json.dumps(_compared(wanted))).check(_compared(value)) is not None:
            raise unmet(f"{anchor} does not hold")


def _compared(value: Json) -> Json:
    """The value in the form for comparison: scalars are texts."""
    return value if isinstance(value, dict | list) else scalar_text(value)


@lru_cache(_MOST_PATTERNS)
def _pattern(text: str) -> Pattern:
    return compile_pattern(json.loads(text))


def _first_condition(part: Json) -> tuple[str, str] | None:
    """The key and the text that an element must have for the part to be decided for it at all, as
    in `(name): web`; None where there is more to be looked at."""
    if not isinstance(part, dict):
        return None
    anchors = anchored(part, HANDLED)
    if not anchors or anchors[0].kind is not AnchorKind.CONDITION:
        return None
    if any(anchor.kind is not AnchorKind.CONDITION for anchor in anchors):
        return None
    wanted = part.get(str(anchors[0]))
    if not isinstance(wanted, str) or "|" in wanted or "&" in wanted or literal(wanted) != wanted:
        return None
    return anchors[0].key, wanted


def _is_another(condition: tuple[str, str], element: Json) -> bool:
    """Report whether an element has another text than the condition wants."""
    if element.__class__ is not dict:
        return False
    text = element.get(condition[0])
    return text.__class__ is str and text != condition[1]


def _add_named(patch: list[Json], part: Json, element: Json) -> None:
    """Adds what an element gets to the patch, under its name; without a name it gets nothing."""
    name = get_field(element, "name")
    if is_empty(name):
        return
    made = copied(part)
    if remove_anchors(made, True):
        return
    made["name"] = name
    patch.append(made)
