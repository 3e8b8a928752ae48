"""Strategic merge as kustomize's `kyaml/yaml/merge2` does it: what the patch adds comes first.

Everything here changes the copies that it is given; where an object is merged with many patches,
each merge copies what it changes (`_part`).
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Final

from chartkit.engine.cluster_policy.mutate.elements import join, join_shared, set_element
from chartkit.engine.cluster_policy.mutate.workspace import (
    Schema,
    Settled,
    Workspace,
    schema_of_kind,
    unchanged,
)
from chartkit.engine.json_patch import (
    KEPT_NULL,
    MISSING,
    PatchError,
    SecondKey,
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
    """The object with the patch merged in; the patch is changed, and so is the object where it is
    a copy. Raises `PatchError`."""
    settled = work.settled
    target = resource if settled is None else settled.own(resource)
    merged = _walk(target, patch, None, work)
    if is_absent(merged):
        raise PatchError("filter cannot create or delete objects")
    if target is resource or merged is not target:
        return merged
    return resource if unchanged(resource, target) else merged


def _part(
    target: Json, patch: Json, schema: Schema | None, work: Workspace, settled: Settled
) -> Json:
    """The merged value of what the object shares with others: it is copied before it is changed.

    What no patch speaks of, and what was left as it is before, is left as it is.
    """
    if target is patch or not isinstance(target, dict | list):
        return _walk(target, patch, schema, work)
    if patch is MISSING and settled.knows(target, schema):
        return target
    # A list is never changed: joining makes a new one.
    own = settled.own(target) if isinstance(target, dict) else target
    merged = _walk(own, patch, schema, work)
    if (
        patch is MISSING
        and (merged is own or isinstance(merged, list))
        and unchanged(target, merged)
    ):
        settled.settle(target, schema)
        return target
    return merged


def _walk(target: Json, patch: Json, schema: Schema | None, work: Workspace) -> Json:
    """The merged value; MISSING where it goes. A target that is an object is changed."""
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
            return _walk_list(target, patch, schema, work)
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
    settled = work.settled
    names = target.keys() | patch.keys() if isinstance(patch, dict) else target.keys()
    for name in sorted(names):
        if isinstance(name, SecondKey):
            continue
        here, there = target.get(name, MISSING), get_field(patch, name)
        if there is MISSING and not isinstance(here, dict | list):
            continue
        field = None if schema is None else schema.field(name)
        if settled is None:
            value = _walk(here, there, field, work)
        else:
            value = _part(here, there, field, work, settled)
        if value is not here or value is None:
            set_field(target, name, value)
    return target


def _chosen_object(target: Json, patch: Json) -> Json:
    if is_absent(target):
        if _added_directive(patch) is _Directive.DELETE:
            return MISSING
        return KEPT_NULL if patch is MISSING and target is None else patch
    if patch is None:
        return MISSING
    return _directed(target, patch, _object_directive(patch))


def _directed(target: Json, patch: Json, directive: _Directive) -> Json:
    if directive is _Directive.DELETE:
        return MISSING
    return patch if directive is _Directive.REPLACE else target


def _added_directive(patch: Json) -> _Directive:
    """The directive of an object that is new; one that is not known stays where it is."""
    try:
        return _object_directive(patch)
    except PatchError:
        return _Directive.MERGE


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


def _walk_list(target: Json, patch: Json, schema: Schema, work: Workspace) -> Json:
    if is_absent(target):
        target = patch
    elif patch is None:
        return MISSING
    else:
        target = _directed(target, patch, _list_directive(patch))
    if target is MISSING:
        return target
    walk, settled = partial(_walk, work=work), work.settled
    if settled is None:
        return join(target, patch, schema, work.budget, walk)
    part = partial(_part, work=work, settled=settled)
    return join_shared(target, patch, schema, work.budget, walk, part, settled)


def _list_directive(patch: Json) -> _Directive:
    """Return the directive of an element with nothing but `$patch`, and remove it."""
    if is_absent(patch):
        return _Directive.MERGE
    element = next((one for one in patch if isinstance(one, dict) and _KEY in one), None)
    if element is None or len(element) > 1:
        return _Directive.MERGE
    text = scalar_text(element[_KEY])
    directive = _directive(text)
    set_element(patch, MISSING, [_KEY], [text])
    return directive
