"""Strategic merge as kustomize's `kyaml/yaml/merge2` does it: what the patch adds comes first.

Everything here changes the copies that it is given; where an object is merged with many patches,
each merge copies what it changes (`_part`).

Lists whose elements all have their keys, each once, are joined by those. For all others kustomize
has an order of searching, replacing and appending that shows in the result, and it is followed
step by step (`kyaml/yaml/walk`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Final

from chartkit.engine.cluster_policy.mutate.workspace import (
    Indexed,
    Schema,
    Texts,
    Workspace,
    schema_of_kind,
    unchanged,
)
from chartkit.engine.json_patch import (
    KEPT_NULL,
    MISSING,
    PatchError,
    SecondKey,
    copied,
    expect_list,
    expect_object,
    expect_scalar,
    get_field,
    is_absent,
    is_empty,
    scalar_text,
    set_field,
)
from chartkit.model import Body, Json


class _Directive(StrEnum):
    """The instruction of `$patch`."""

    MERGE = "merge"
    REPLACE = "replace"
    DELETE = "delete"


_KEY: Final = "$patch"


def merge(resource: Body, patch: Json, work: Workspace) -> Json:
    """Return the object with the patch merged in; the patch is changed, and so is the object if it
    is a copy. Raises `PatchError`."""
    target = work.own(resource) if work.shares else resource
    merged = _walk(target, patch, None, work)
    if is_absent(merged):
        raise PatchError("filter cannot create or delete objects")
    if target is resource or merged is not target:
        return merged
    return resource if unchanged(resource, target) else merged


def _part(target: Json, patch: Json, schema: Schema | None, work: Workspace) -> Json:
    """The merged value of what the object shares with others: it is copied before it is changed.

    What no patch speaks of, and what was left as it is before, is left as it is.
    """
    if target is patch or not isinstance(target, dict | list):
        return _walk(target, patch, schema, work)
    if patch is MISSING and work.knows(target, schema):
        return target
    # A list is never changed: joining makes a new one.
    own = work.own(target) if isinstance(target, dict) else target
    merged = _walk(own, patch, schema, work)
    if (
        patch is MISSING
        and (merged is own or isinstance(merged, list))
        and unchanged(target, merged)
    ):
        work.settle(target, schema)
        return target
    return merged


def _walk(target: Json, patch: Json, schema: Schema | None, work: Workspace) -> Json:
    """Return the merged value; MISSING if it is removed. A target that is an object is changed."""
    if schema is None:
        schema = _own_schema(target) or _own_schema(patch)
    if isinstance(target, dict) and (patch is MISSING or isinstance(patch, dict)):
        return _walk_object(target, patch, schema, work)
    leading = patch if is_absent(target) else target
    if is_absent(leading) or isinstance(leading, dict):
        expect_object(target)
        expect_object(patch)
        return _walk_object(target, patch, schema, work)
    if not isinstance(leading, list):
        expect_scalar(target)
        expect_scalar(patch)
    else:
        expect_list(target)
        expect_list(patch)
        if schema is not None and schema.keys is not None:
            if is_absent(target):
                target = patch
            elif patch is None:
                return MISSING
            else:
                target = _directed(target, patch, _list_directive(patch))
            if target is MISSING:
                return target
            return _join(target, patch, schema, work)
    return target if patch is MISSING else patch


def _own_schema(value: Json) -> Schema | None:
    """Return the schema of an object that names its kind."""
    if not isinstance(value, dict) or "kind" not in value:
        return None
    names = [get_field(value, key) for key in ("apiVersion", "kind")]
    texts = ["" if is_empty(name) else scalar_text(name) for name in names]
    return schema_of_kind(*texts) if all(texts) else None


def _walk_object(target: Json, patch: Json, schema: Schema | None, work: Workspace) -> Json:
    target = _chosen_object(target, patch)
    if not isinstance(target, dict):
        return target
    walk = _part if work.shares else _walk
    names = target.keys() | patch.keys() if isinstance(patch, dict) else target.keys()
    for name in sorted(names):
        if isinstance(name, SecondKey):
            continue
        here, there = target.get(name, MISSING), get_field(patch, name)
        if there is MISSING and not isinstance(here, dict | list):
            continue
        field = None if schema is None else schema.field(name)
        value = walk(here, there, field, work)
        if value is not here or value is None:
            set_field(target, name, value)
    return target


def _chosen_object(target: Json, patch: Json) -> Json:
    if is_absent(target):
        # A directive that is not known stays in an object that is new.
        with suppress(PatchError):
            if _object_directive(patch) is _Directive.DELETE:
                return MISSING
        return KEPT_NULL if patch is MISSING and target is None else patch
    if patch is None:
        return MISSING
    return _directed(target, patch, _object_directive(patch))


def _directed(target: Json, patch: Json, directive: _Directive) -> Json:
    if directive is _Directive.DELETE:
        return MISSING
    return patch if directive is _Directive.REPLACE else target


def _object_directive(patch: Json) -> _Directive:
    """Return the directive of an object of the patch, and remove it there."""
    if not isinstance(patch, dict) or _KEY not in patch:
        return _Directive.MERGE
    directive = _directive(scalar_text(patch[_KEY]))
    del patch[_KEY]
    return directive


def _directive(text: str) -> _Directive:
    try:
        return _Directive(text)
    except ValueError:
        raise PatchError(f"unknown patch strategy '{text}'") from None


def _list_directive(patch: Json) -> _Directive:
    """Return the directive of an element with nothing but `$patch`, and remove it."""
    if is_absent(patch):
        return _Directive.MERGE
    element = next((item for item in patch if isinstance(item, dict) and _KEY in item), None)
    if element is None or len(element) > 1:
        return _Directive.MERGE
    text = scalar_text(element[_KEY])
    directive = _directive(text)
    _set_element(patch, MISSING, [_KEY], [text])
    return directive


_SCALARS: Final = ("",)
"""The keys of a list of scalars: the element itself."""

_MOST_IRREGULAR: Final = 1000
"""The most elements of a list that is joined step by step; the time is quadratic."""


def _join(target: list[Json], patch: Json, schema: Schema, work: Workspace) -> list[Json]:
    """The target with the patch's elements joined in; what the patch names comes first.

    A target that is shared stays as it is, and is the result where nothing changes.
    """
    keys = schema.keys or _SCALARS
    regular = _join_regular(target, patch, keys, schema, work)
    if regular is not None:
        return regular
    count = len(target) + (0 if is_absent(patch) else len(patch))
    if count > _MOST_IRREGULAR:
        raise PatchError(
            f"a list of more than {_MOST_IRREGULAR} elements has some without "
            f"{', '.join(schema.keys) if schema.keys else 'a value'} or with the same"
        )
    work.budget.spend(count * count, "a list whose elements have no keys of their own")
    if not work.shares or target is patch:
        return _join_stepwise(target, patch, keys, schema, work)
    joined = _join_stepwise(copied(target), patch, keys, schema, work)
    # Kept apart by everything that JSON and the order of keys tell.
    return target if repr(joined) == repr(target) else joined


def _join_regular(
    target: list[Json], patch: Json, keys: Sequence[str], schema: Schema, work: Workspace
) -> list[Json] | None:
    indexed = work.indexed(target) if work.shares else None
    old = _indexed(target, keys) if indexed is None else indexed.elements
    new = _indexed(patch, keys)
    if old is None or new is None:
        return None
    pending = old if indexed is None else indexed.pending
    walk, elements = _part if work.shares else _walk, schema.elements()
    made: dict[Texts, Json] = {}
    unsettled: list[Texts] = []
    for key in {**new, **dict.fromkeys(pending)}:
        here, there = old.get(key, MISSING), new.get(key, MISSING)
        merged = walk(here, there, elements, work)
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
    if len(keys) > 1:
        # With several keys, each element of the target is taken out and put at the end.
        made = {key: element for key, element in made.items() if key not in old}
    joined = {**made, **old}
    result = list(joined.values())
    result = target if unchanged(target, result) else result
    if work.shares and (new or indexed is not None):
        work.index(Indexed(result, joined, tuple(unsettled)))
    return result


def _indexed(source: Json, keys: Sequence[str]) -> dict[tuple[str, ...], Json] | None:
    """Return the elements by their keys; None if one lacks a key, or two have the same keys."""
    elements: dict[tuple[str, ...], Json] = {}
    for element in () if is_absent(source) else source:
        if isinstance(element, dict) is (keys == _SCALARS):
            return None
        texts = _key_texts(element, keys)
        if not all(texts) or texts in elements:
            return None
        elements[texts] = element
    return elements


def _key_texts(element: Json, keys: Sequence[str]) -> tuple[str, ...]:
    if keys == _SCALARS:
        return ("" if is_empty(element) else scalar_text(element),)
    values = [get_field(element, key) for key in keys]
    return tuple("" if is_empty(value) else scalar_text(value) for value in values)


def _join_stepwise(
    target: list[Json], patch: Json, keys: Sequence[str], schema: Schema, work: Workspace
) -> list[Json]:
    # The keys of all elements, each once, the patch's first.
    distinct: dict[tuple[str, ...], None] = {}
    for source in (patch, target):
        for element in () if is_absent(source) else source:
            texts = (scalar_text(element),) if keys == _SCALARS else _key_texts(element, keys)
            distinct.setdefault(texts)
    wanted = list(distinct)
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
        used, values = _usable(wanted, texts, keys)
        current, given = _find(target, used, values), _find(patch, used, values)
        merged = _walk(current, given, elements, work)
        if is_absent(merged) or merged == {}:
            _set_element(target, MISSING, used, values)
            continue
        if isinstance(merged, dict):
            for key, text in zip(used, values, strict=True):
                if key not in merged and text:
                    set_field(merged, key, text)
        _set_element(added, merged, used, values)
    return _appended(added, target, used) if wanted else target


def _filled(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...] | None:
    pairs = list(zip(left, right, strict=True))
    if any(left_text and right_text and left_text != right_text for left_text, right_text in pairs):
        return None
    if not any(left_text == right_text for left_text, right_text in pairs):
        return None
    return tuple(left_text or right_text for left_text, right_text in pairs)


def _usable(
    wanted: Sequence[Sequence[str]], texts: Sequence[str], keys: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the keys that any of the elements has, with the texts of one element."""
    present = {key for element in wanted for key, text in zip(keys, element, strict=False) if text}
    if not present:
        return list(keys), list(texts)
    pairs = zip(keys, texts, strict=True)
    values = [text for key, text in pairs if text or key in present]
    return [key for key in keys if key in present], values


def _find(source: Json, keys: Sequence[str], texts: Sequence[str]) -> Json:
    """Return the first element that matches the non-empty keys."""
    if not isinstance(source, list):
        return MISSING
    keys, texts = _usable([texts], texts, keys)
    if not keys[0]:
        matching = (item for item in source if scalar_text(item) == texts[0])
        return next(matching, MISSING)
    for element in source:
        if isinstance(element, dict) and all(
            key in element and scalar_text(element[key]) == text
            for key, text in zip(keys, texts, strict=True)
        ):
            return element
    return MISSING


def _set_element(
    content: list[Json], element: Json, keys: Sequence[str], texts: Sequence[str]
) -> None:
    """Replace the elements with the same keys, or append the element; MISSING removes them. Empty
    elements are dropped, and without texts all others too."""
    objects_only = bool(keys[0] and texts and texts[0])
    kept: list[Json] = []
    is_there = False
    for member in content:
        if is_absent(member) or member == {}:
            continue
        if objects_only and not isinstance(member, dict):
            kept.append(member)
        elif _has_keys(member, keys, texts):
            is_there = True
            if element is not MISSING:
                kept.append(element)
        elif texts:
            kept.append(member)
    if not is_there and not is_absent(element):
        kept.append(element)
    content[:] = kept


def _has_keys(element: Json, keys: Sequence[str], texts: Sequence[str]) -> bool:
    """A key without a text counts as the one before it; an empty text fits any value."""
    has = False
    for index, key in enumerate(keys):
        if index < len(texts):
            text = texts[index]
            if not key:
                expect_scalar(element)
                has = scalar_text(element) == text
            else:
                expect_object(element)
                has = key in element and (not text or scalar_text(element[key]) == text)
        if not has:
            return False
    return True


def _appended(content: list[Json], more: list[Json], keys: Sequence[str]) -> list[Json]:
    for element in list(more):
        if not keys[0]:
            _set_element(content, element, keys, [scalar_text(element)])
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
            _set_element(content, MISSING, keys, texts)
        _set_element(content, element, keys, texts)
    return content
