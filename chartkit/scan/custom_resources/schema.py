"""Structural schemas of custom resources (`openAPIV3Schema`), read once, and objects as an API
server decodes them by these: without unknown fields and nulls, with defaults.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema and its {pruning,defaulting}.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from chartkit.model import Body, FieldPath, Json, path_text

_NOTHING: Final[Mapping[str, Schema]] = {}
_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_FORBIDDEN: Final = (
    "$ref",
    "additionalItems",
    "definitions",
    "dependencies",
    "id",
    "patternProperties",
)
"""Keys of JSON Schema that no definition of `apiextensions.k8s.io/v1` may have."""
_NUMBERS: Final = ("minimum", "maximum", "multipleOf")
LIMITS_OF_SIZE: Final = tuple(
    f"{end}{what}" for end in ("min", "max") for what in ("Length", "Items", "Properties")
)
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


class SchemaError(Exception):
    """A schema that no API server takes; path: where in it."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(f"{path_text(path)}: {message}" if path else message)
        self.path = path


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of `x-kubernetes-validations`; optional_old: whether it runs for new objects, too,
    although it reads `oldSelf`."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """One node. body: as the definition has it, with limits and alternatives; types: empty for any;
    additional: the schema of a map's values, true for any, None where only `properties` are known;
    has_default: whether `default` counts; keeps_unknown, embeds: those of
    `x-kubernetes-preserve-unknown-fields` and `-embedded-resource`; list_type, list_keys: those of
    `x-kubernetes-list-type` and `-list-map-keys`."""

    body: Body = field(default_factory=dict)
    types: tuple[str, ...] = ()
    format: str = ""
    nullable: bool = False
    properties: Mapping[str, Schema] = field(default_factory=dict)
    additional: Schema | bool | None = None
    items: Schema | None = None
    all_of: tuple[Schema, ...] = ()
    default: Json = None
    has_default: bool = False
    keeps_unknown: bool = False
    embeds: bool = False
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()


def read_schema(body: Json, path: tuple[str | int, ...] = ()) -> Schema:
    """Return the schema of a body of `openAPIV3Schema`; raise SchemaError."""
    given = _mapping(body, path)
    for key in filter(given.get, _FORBIDDEN):
        raise SchemaError((*path, key), "must not be used")
    properties: Mapping[str, Schema] = _NOTHING
    if given.get("properties") is not None:
        here = (*path, "properties")
        members = _mapping(given["properties"], here)
        properties = {name: read_schema(part, (*here, name)) for name, part in members.items()}
    items = given.get("items")
    for key in (*_NUMBERS, *LIMITS_OF_SIZE):
        value = given.get(key)
        is_number = isinstance(value, int | float if key in _NUMBERS else int)
        if value is not None and (not is_number or isinstance(value, bool)):
            raise SchemaError((*path, key), "must be a number")
    for key in ("exclusiveMinimum", "exclusiveMaximum"):
        _flag(given, key, path)
    _texts(given, "required", path)
    _list(given, "enum", path)
    _text(given, "pattern", path)
    for key in ("anyOf", "oneOf"):
        _branches(given, key, path)
    if given.get("not") is not None:
        read_schema(given["not"], (*path, "not"))
    if _flag(given, "x-kubernetes-int-or-string", path):
        types: tuple[str, ...] = ("integer", "string")
    else:
        name = _text(given, "type", path)
        if name and name not in _TYPES:
            raise SchemaError((*path, "type"), f"there is no type '{name}'")
        types = (name,) if name else ()
    return Schema(
        body=given,
        types=types,
        format=_text(given, "format", path),
        nullable=_flag(given, "nullable", path),
        properties=properties,
        additional=_additional(given, path),
        items=None if items is None else read_schema(items, (*path, "items")),
        all_of=_branches(given, "allOf", path),
        default=deepcopy(given.get("default")),
        has_default=given.get("default") is not None,
        keeps_unknown=_flag(given, "x-kubernetes-preserve-unknown-fields", path),
        embeds=_flag(given, "x-kubernetes-embedded-resource", path),
        list_type=_text(given, "x-kubernetes-list-type", path),
        list_keys=_texts(given, "x-kubernetes-list-map-keys", path),
        rules=_rules(given, path),
    )


def _additional(given: Body, path: tuple[str | int, ...]) -> Schema | bool | None:
    value = given.get("additionalProperties")
    if value is None or isinstance(value, bool):
        return value
    return read_schema(value, (*path, "additionalProperties"))


def _branches(given: Body, key: str, path: tuple[str | int, ...]) -> tuple[Schema, ...]:
    branches = enumerate(_list(given, key, path))
    return tuple(read_schema(branch, (*path, key, at)) for at, branch in branches)


def _rules(given: Body, path: tuple[str | int, ...]) -> tuple[Rule, ...]:
    key = "x-kubernetes-validations"
    rules = []
    for at, item in enumerate(_list(given, key, path)):
        here = (*path, key, at)
        rule = _mapping(item, here)
        rules.append(
            Rule(
                _text(rule, "rule", here),
                _text(rule, "message", here),
                _text(rule, "messageExpression", here),
                _text(rule, "reason", here),
                _text(rule, "fieldPath", here),
                _flag(rule, "optionalOldSelf", here),
            )
        )
    return tuple(rules)


def _mapping(value: Json, path: tuple[str | int, ...]) -> Body:
    if not isinstance(value, dict):
        raise SchemaError(path, "must be a mapping")
    return value


def _list(given: Body, key: str, path: tuple[str | int, ...]) -> Sequence[Json]:
    value = given.get(key)
    if value is not None and not isinstance(value, list):
        raise SchemaError((*path, key), "must be a list")
    return value or ()


def _texts(given: Body, key: str, path: tuple[str | int, ...]) -> tuple[str, ...]:
    texts = _list(given, key, path)
    if not all(isinstance(text, str) for text in texts):
        raise SchemaError((*path, key), "must be a list of strings")
    return tuple(texts)


def _text(given: Body, key: str, path: tuple[str | int, ...]) -> str:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise SchemaError((*path, key), "must be a string")
    return value or ""


def _flag(given: Body, key: str, path: tuple[str | int, ...]) -> bool:
    value = given.get(key)
    if value is not None and not isinstance(value, bool):
        raise SchemaError((*path, key), "must be true or false")
    return bool(value)


class UnknownField(NamedTuple):
    """A field that is dropped; known: the names of the fields that there are in its place."""

    path: FieldPath
    known: Collection[str]


def unknown_fields(schema: Schema, body: Body) -> Iterator[UnknownField]:
    """Yield the fields of an object that its schema does not have."""
    return _unknown(schema, body, (), is_root=True)


def decoded(schema: Schema, body: Body) -> tuple[Body, list[FieldPath]]:
    """Return a copy of an object as it is stored, and the paths of the fields that are dropped."""
    unknown = [item.path for item in unknown_fields(schema, body)]
    kept = _copied(body)
    for path in unknown:
        owner: Json = kept
        for step in path[:-1]:
            owner = owner[step]
        del owner[path[-1]]
    _drop_nulls(schema, kept)
    return with_defaults(schema, kept), unknown


def _copied(value: Json) -> Json:
    """Return a copy in which nothing is shared, as aliases in YAML share what they name."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def member(schema: Schema | None, key: str) -> Schema | None:
    """Return the schema of a member of an object; None where the schema has none."""
    if schema is None:
        return None
    property_ = schema.properties.get(key)
    if property_ is None and isinstance(schema.additional, Schema):
        return schema.additional
    return property_


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
            for at, item in enumerate(value):
                yield from _unknown(items, item, (*path, at), kept=kept)
    elif isinstance(value, dict):
        embeds = is_root or (schema is not None and schema.embeds)
        for key, item in value.items():
            if embeds and key in _OWN:
                if key == "metadata" and isinstance(item, dict):
                    for name in item:
                        if name not in _METADATA:
                            yield UnknownField((*path, key, name), _METADATA)
            elif schema is not None and (key in schema.properties or schema.additional is not None):
                # Below a value of `additionalProperties: true` every field is unknown.
                yield from _unknown(member(schema, key), item, (*path, key))
            elif not kept:
                yield UnknownField((*path, key), schema.properties if schema is not None else ())


def _drop_nulls(schema: Schema | None, value: Json) -> None:
    """Remove the nulls of fields that take none and have no default."""
    if isinstance(value, dict):
        for key, item in list(value.items()):
            below = member(schema, key)
            if item is None and below is not None and not (below.nullable or below.has_default):
                del value[key]
            else:
                _drop_nulls(below, item)
    elif isinstance(value, list):
        for item in value:
            _drop_nulls(schema.items if schema is not None else None, item)


def with_defaults(schema: Schema, body: Body) -> Body:
    """An object with the defaults of its schema, which it shares; it may be changed in place."""
    _fill(schema, body)
    return body


def complete_defaults(schema: Schema) -> None:
    """Fill the defaults of nested fields into the defaults of a schema, the innermost first."""
    for below in (*schema.properties.values(), schema.items, schema.additional):
        if isinstance(below, Schema):
            complete_defaults(below)
    if schema.has_default:
        _fill(schema, schema.default)


def _fill(schema: Schema | None, value: Json) -> None:
    if schema is None:
        return
    if isinstance(value, dict):
        for key, property_ in schema.properties.items():
            if property_.has_default and (key not in value or _is_replaced(property_, value[key])):
                value[key] = property_.default
        for key in value:
            below = member(schema, key)
            if below is None:
                continue
            if key not in schema.properties and _is_replaced(below, value[key]):
                value[key] = below.default
            if value[key] is not below.default:
                _fill(below, value[key])
    elif isinstance(value, list):
        for at, item in enumerate(value):
            if schema.items is not None and _is_replaced(schema.items, item):
                value[at] = schema.items.default
            _fill(schema.items, value[at])


def _is_replaced(schema: Schema | None, value: Json) -> bool:
    return value is None and schema is not None and not schema.nullable
