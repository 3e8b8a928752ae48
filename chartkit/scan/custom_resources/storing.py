"""An object as an API server decodes it: without unknown fields and nulls, with defaults.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{pruning,defaulting}.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from chartkit.model import Body, FieldPath, Json
from chartkit.scan.custom_resources.schema import Schema

_OWN: Final = frozenset({"apiVersion", "kind", "metadata"})
_METADATA: Final = frozenset(
    {
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""The fields of ObjectMeta."""


class UnknownField(NamedTuple):
    """A field that is dropped; known: the names of the fields that there are in its place."""

    path: FieldPath
    known: Collection[str]


def unknown_fields(schema: Schema, body: Body) -> Iterator[UnknownField]:
    """Yield the fields of an object that its schema does not have."""
    return _unknown(schema, body, (), is_root=True)


def decoded(schema: Schema, body: Body) -> tuple[Body, list[FieldPath]]:
    """Return a copy of an object as it is stored, and the paths of the fields that are dropped."""
    unknown = [each.path for each in unknown_fields(schema, body)]
    kept = _copied(body)
    for path in unknown:
        _drop(kept, path)
    _drop_nulls(schema, kept)
    return with_defaults(schema, kept), unknown


def _copied(value: Json) -> Json:
    """Return a copy in which nothing is shared, as aliases in YAML share what they name."""
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _drop(value: Json, path: FieldPath) -> None:
    for step in path[:-1]:
        value = value[step]
    del value[path[-1]]


def member(schema: Schema | None, key: str) -> Schema | None:
    """Return the schema of a member of an object; None where none is known."""
    if schema is None:
        return None
    found = schema.properties.get(key)
    if found is None and isinstance(schema.additional, Schema):
        return schema.additional
    return found


def _unknown(
    schema: Schema | None,
    value: Json,
    path: FieldPath,
    *,
    is_root: bool = False,
    kept: bool = False,
) -> Iterator[UnknownField]:
    """Yield the unknown fields; kept: whether those directly below are not an error."""
    kept = kept or (schema is not None and schema.keeps_unknown)
    if isinstance(value, list):
        items = schema.items if schema is not None else None
        if items is not None or not kept:
            for at, each in enumerate(value):
                yield from _unknown(items, each, (*path, at), kept=kept)
    elif isinstance(value, dict):
        embeds = is_root or (schema is not None and schema.embeds)
        for key, each in value.items():
            if embeds and key in _OWN:
                if key == "metadata" and isinstance(each, dict):
                    for name in each:
                        if name not in _METADATA:
                            yield UnknownField((*path, key, name), _METADATA)
            elif schema is not None and (key in schema.properties or schema.additional is not None):
                # Below a value of `additionalProperties: true` every field is unknown.
                yield from _unknown(member(schema, key), each, (*path, key))
            elif not kept:
                yield UnknownField((*path, key), schema.properties if schema is not None else ())


def _drop_nulls(schema: Schema | None, value: Json) -> None:
    """Remove the nulls of fields that take none and have no default."""
    if isinstance(value, dict):
        for key, each in list(value.items()):
            below = member(schema, key)
            if each is None and below is not None and not (below.nullable or below.has_default):
                del value[key]
            else:
                _drop_nulls(below, each)
    elif isinstance(value, list):
        for each in value:
            _drop_nulls(schema.items if schema is not None else None, each)


def with_defaults(schema: Schema, body: Body) -> Body:
    """Return an object with the defaults of its schema, which it shares; it may be changed in
    place."""
    _fill(schema, body)
    return body


def complete_defaults(schema: Schema) -> None:
    """Fill the defaults of nested fields into those of a schema, the innermost first."""
    for below in (*schema.properties.values(), schema.items, schema.additional):
        if isinstance(below, Schema):
            complete_defaults(below)
    if schema.has_default:
        _fill(schema, schema.default)


def _fill(schema: Schema | None, value: Json) -> None:
    if schema is None:
        return
    if isinstance(value, dict):
        for key, each in schema.properties.items():
            if each.has_default and (key not in value or _is_replaced(each, value[key])):
                value[key] = each.default
        for key in value:
            below = member(schema, key)
            if below is None:
                continue
            if key not in schema.properties and _is_replaced(below, value[key]):
                value[key] = below.default
            if value[key] is not below.default:
                _fill(below, value[key])
    elif isinstance(value, list):
        for at, each in enumerate(value):
            if schema.items is not None and _is_replaced(schema.items, each):
                value[at] = schema.items.default
            _fill(schema.items, value[at])


def _is_replaced(schema: Schema | None, value: Json) -> bool:
    return value is None and schema is not None and not schema.nullable
