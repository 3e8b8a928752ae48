"""Joins two lists by the keys of their elements, as kustomize's `kyaml/yaml/walk` does.

Lists whose elements all have their keys, each once, are joined by those. For all others kustomize
has an order of searching, replacing and appending that shows in the result, and it is followed
step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.mutate.workspace import (
    Indexed,
    Schema,
    Settled,
    Texts,
    unchanged,
)
from chartkit.engine.json_patch import (
    MISSING,
    PatchError,
    copied,
    expect_object,
    expect_scalar,
    get_field,
    is_absent,
    is_empty,
    scalar_text,
    set_field,
)
from chartkit.model import Json

Walk = Callable[[Json, Json, Schema | None], Json]
"""Merges the second value into the first, and gives the merged one."""

_SCALARS: Final = ("",)
"""The keys of a list of scalars: the element itself."""

_MOST_IRREGULAR: Final = 1000
"""The most elements of a list that is joined step by step; the time is quadratic."""


def join(target: list[Json], patch: Json, schema: Schema, budget: Budget, walk: Walk) -> list[Json]:
    """The target with the patch's elements joined in; what the patch names comes first.

    walk: merges elements of the target, and changes them.
    """
    keys = schema.keys or _SCALARS
    old, new = _indexed(target, keys), _indexed(patch, keys)
    if old is None or new is None:
        regular = None
    else:
        elements = schema.elements()
        made: dict[Texts, Json] = {}
        for key in {**new, **old}:
            merged = walk(old.get(key, MISSING), new.get(key, MISSING), elements)
            if is_absent(merged) or merged == {}:
                old.pop(key, None)
            else:
                made[key] = merged
        regular = list(_ordered(made, old, keys).values())
    if regular is not None:
        return regular
    _count_stepwise(target, patch, schema, budget)
    return _join_stepwise(target, patch, keys, schema, walk)


def join_shared(
    target: list[Json],
    patch: Json,
    schema: Schema,
    budget: Budget,
    walk: Walk,
    part: Walk,
    settled: Settled,
) -> list[Json]:
    """As `join`, for a target that stays as it is; the very same where nothing changes.

    part: merges elements of the target; walk: merges elements of a copy of it, and changes them.
    """
    keys = schema.keys or _SCALARS
    regular = _join_known(target, patch, keys, schema, settled, part)
    if regular is not None:
        return regular
    _count_stepwise(target, patch, schema, budget)
    if target is patch:
        return _join_stepwise(target, patch, keys, schema, walk)
    joined = _join_stepwise(copied(target), patch, keys, schema, walk)
    # Kept apart by everything that JSON and the order of keys tell.
    return target if repr(joined) == repr(target) else joined


def _count_stepwise(target: list[Json], patch: Json, schema: Schema, budget: Budget) -> None:
    count = len(target) + (0 if is_absent(patch) else len(patch))
    if count > _MOST_IRREGULAR:
        raise PatchError(
            f"a list of more than {_MOST_IRREGULAR} elements has some without "
            f"{', '.join(schema.keys) if schema.keys else 'a value'} or with the same"
        )
    budget.spend(count * count, "a list whose elements have no keys of their own")


def _ordered(
    made: dict[Texts, Json], old: dict[Texts, Json], keys: Sequence[str]
) -> dict[Texts, Json]:
    if len(keys) > 1:
        # With several keys, each element of the target is taken out and put at the end.
        made = {key: element for key, element in made.items() if key not in old}
    return {**made, **old}


def _join_known(
    target: list[Json],
    patch: Json,
    keys: Sequence[str],
    schema: Schema,
    settled: Settled,
    part: Walk,
) -> list[Json] | None:
    known = settled.indexed(target)
    old = _indexed(target, keys) if known is None else known.elements
    new = _indexed(patch, keys)
    if old is None or new is None:
        return None
    pending = old if known is None else known.pending
    elements = schema.elements()
    made: dict[Texts, Json] = {}
    unsettled: list[Texts] = []
    for key in {**new, **dict.fromkeys(pending)}:
        here, there = old.get(key, MISSING), new.get(key, MISSING)
        merged = part(here, there, elements)
        if is_absent(merged) or merged == {}:
            old.pop(key, None)
            continue
        if there is not MISSING:
            made[key] = merged
        if here is not MISSING:
            # An element that the patch would replace stays.
            old[key] = here if merged is there else merged
        if there is not MISSING or merged is not here:
            unsettled.append(key)
    joined = _ordered(made, old, keys)
    result = list(joined.values())
    result = target if unchanged(target, result) else result
    if new or known is not None:
        settled.index(Indexed(result, joined, tuple(unsettled)))
    return result


def _indexed(source: Json, keys: Sequence[str]) -> dict[tuple[str, ...], Json] | None:
    """The elements by their keys; None where one has not all of them, or two have the same."""
    found: dict[tuple[str, ...], Json] = {}
    for element in () if is_absent(source) else source:
        if isinstance(element, dict) is (keys == _SCALARS):
            return None
        texts = _key_texts(element, keys)
        if not all(texts) or texts in found:
            return None
        found[texts] = element
    return found


def _key_texts(element: Json, keys: Sequence[str]) -> tuple[str, ...]:
    if keys == _SCALARS:
        return ("" if is_empty(element) else scalar_text(element),)
    values = [get_field(element, key) for key in keys]
    return tuple("" if is_empty(value) else scalar_text(value) for value in values)


def _join_stepwise(
    target: list[Json], patch: Json, keys: Sequence[str], schema: Schema, walk: Walk
) -> list[Json]:
    # The keys of all elements, each once, the patch's first.
    found: dict[tuple[str, ...], None] = {}
    for source in (patch, target):
        for element in () if is_absent(source) else source:
            texts = (scalar_text(element),) if keys == _SCALARS else _key_texts(element, keys)
            found.setdefault(texts)
    wanted = list(found)
    if len(keys) > 1:
        # Makes one of those that differ only in a key that one of them lacks.
        for index, _ in enumerate(wanted):
            left = wanted[index]
            for other in range(len(wanted)):
                filled = _filled(left, wanted[other])
                if filled is not None:
                    wanted[index] = wanted[other] = filled
    elements = schema.elements()
    added: list[Json] = []
    used: Sequence[str] = keys
    for texts in wanted:
        used, known = _usable(wanted, texts, keys)
        merged = walk(_find(target, used, known), _find(patch, used, known), elements)
        if is_absent(merged) or merged == {}:
            set_element(target, MISSING, used, known)
            continue
        if isinstance(merged, dict):
            for key, text in zip(used, known, strict=True):
                if key not in merged and text:
                    set_field(merged, key, text)
        set_element(added, merged, used, known)
    return _appended(added, target, used) if wanted else target


def _filled(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...] | None:
    pairs = list(zip(left, right, strict=True))
    if any(one and other and one != other for one, other in pairs):
        return None
    if not any(one == other for one, other in pairs):
        return None
    return tuple(one or other for one, other in pairs)


def _usable(
    wanted: Sequence[Sequence[str]], texts: Sequence[str], keys: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The keys that any of the elements has, with the texts of one of them."""
    present = {key for one in wanted for key, text in zip(keys, one, strict=False) if text}
    if not present:
        return list(keys), list(texts)
    pairs = zip(keys, texts, strict=True)
    known = [text for key, text in pairs if text or key in present]
    return [key for key in keys if key in present], known


def _find(source: Json, keys: Sequence[str], texts: Sequence[str]) -> Json:
    """The first element with the keys that are not empty."""
    if not isinstance(source, list):
        return MISSING
    keys, texts = _usable([texts], texts, keys)
    if not keys[0]:
        matching = (one for one in source if scalar_text(one) == texts[0])
        return next(matching, MISSING)
    for element in source:
        if isinstance(element, dict) and all(
            key in element and scalar_text(element[key]) == text
            for key, text in zip(keys, texts, strict=True)
        ):
            return element
    return MISSING


def set_element(
    content: list[Json], element: Json, keys: Sequence[str], texts: Sequence[str]
) -> None:
    """Puts an element in the place of those with the same keys, or at the end; MISSING takes
    those away. Empty elements go, and without texts all others go too."""
    objects_only = bool(keys[0] and texts and texts[0])
    kept: list[Json] = []
    is_there = False
    for one in content:
        if is_absent(one) or one == {}:
            continue
        if objects_only and not isinstance(one, dict):
            kept.append(one)
        elif _has_keys(one, keys, texts):
            is_there = True
            if element is not MISSING:
                kept.append(element)
        elif texts:
            kept.append(one)
    if not is_there and not is_absent(element):
        kept.append(element)
    content[:] = kept


def _has_keys(element: Json, keys: Sequence[str], texts: Sequence[str]) -> bool:
    """A key without a text counts as the one before it; an empty text fits any value."""
    has = False
    for index, key in enumerate(keys):
        if index < len(texts):
            has = _has_key(element, key, texts[index])
        if not has:
            return False
    return True


def _has_key(element: Json, key: str, text: str) -> bool:
    if not key:
        expect_scalar(element)
        return scalar_text(element) == text
    expect_object(element)
    return key in element and (not text or scalar_text(element[key]) == text)


def _appended(content: list[Json], more: list[Json], keys: Sequence[str]) -> list[Json]:
    for element in list(more):
        if not keys[0]:
            set_element(content, element, keys, [scalar_text(element)])
            continue
        texts: list[str] = []
        for key in keys:
            expect_object(element)
            value = get_field(element, key)
            if value is MISSING:
                content.append(element)
            else:
                texts.append(scalar_text(value))
        if len(keys) > 1:
            set_element(content, MISSING, keys, texts)
        set_element(content, element, keys, texts)
    return content
