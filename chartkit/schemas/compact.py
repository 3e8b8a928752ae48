"""The compact notation of types, and its meaning in OpenAPI and JSON Schema.

A document maps names to types. A type is a mapping of fields (`name!` is required), a list with one
element, or an expression such as `list string`, `map Quantity`, `enum Audit Enforce`, `int32 1..30
= 10`, `string /^a/`, `Port | string`, `any`, `object`, `Probe?`, `some T` (a list that is not
empty), `set T`, `keyed name T` (a list whose elements `name` identifies); text after ` -- ` is the
description. Names that begin with a capital refer to other types. Marks of an object: `$doc`
(description), `$extends` (another object's fields too), `$oneOf: a b` (exactly one of these
fields), `$notBoth: a b`, `$some: 1` (at least one field), `$open: true` (unknown fields stay),
`$atomic: true` (server-side apply takes it whole).

The canonical form is a structural schema of a CustomResourceDefinition with `$ref` for names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from chartkit.documents.reader import parse_yaml, read_file
from chartkit.errors import InputError
from chartkit.model import Location

Schema = dict[str, Any]

OPEN = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"

_BASE: Mapping[str, Schema] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number"},
    "time": {"type": "string", "format": "date-time"},
    "any": {OPEN: True},
    "object": {"type": "object", OPEN: True},
    "intOrString": {INT_OR_STRING: True},
}
_LISTS: Mapping[str, Schema] = {
    "list": {},
    "some": {"minItems": 1},
    "set": {"x-kubernetes-list-type": "set"},
}
_RANGE = re.compile(r"(-?\d*)\.\.(-?\d*)$")
_EXTENDS = "$extends"
_DATA = Path(__file__).parent
_FILES = ("kyverno.yaml", "policies.yaml", "kubernetes.yaml", "reports.yaml")
_EXACT = (-(2**53) + 1, 2**53 - 1)
_BOUNDS = {"int32": (-(2**31), 2**31 - 1)}
"""The integers that come through JSON unharmed, and those that fit the format."""


def parse_types(
    document: Mapping[str, Any], others: Mapping[str, Schema] | None = None
) -> dict[str, Schema]:
    """Every type of a document in canonical form; raises InputError for an invalid type.

    others: types of other documents that these may refer to.
    """
    types = {name: parse_type(body, name) for name, body in document.items()}
    for name, schema in types.items():
        for reference in _references(schema):
            if reference not in types and reference not in (others or {}):
                raise InputError(f"type {name}: no type is called {reference}", Location(name))
    return types


def parse_type(body: Any, where: str) -> Schema:
    """One type in canonical form; where names it in errors."""
    if isinstance(body, str):
        return parse_expression(body, where)
    if isinstance(body, list) and len(body) == 1:
        return {"type": "array", "items": parse_type(body[0], f"{where}[]")}
    if isinstance(body, Mapping):
        schema: Schema = {"type": "object"}
        properties: Schema = {}
        required: list[str] = []
        for key, value in body.items():
            if key.startswith("$"):
                schema |= _parse_mark(key, value, where)
            else:
                name = key.removesuffix("!")
                properties[name] = parse_type(value, f"{where}.{name}")
                if name != key:
                    required.append(name)
        if properties:
            schema["properties"] = properties
        return schema | ({"required": required} if required else {})
    raise InputError(f"type {where}: neither fields nor an expression", Location(where))


def _parse_mark(key: str, value: Any, where: str) -> Schema:
    if key == _EXTENDS:
        return {_EXTENDS: value}
    if key == "$doc":
        return {"description": value}
    if key == "$atomic":
        return {"x-kubernetes-map-type": "atomic"}
    if key == "$open":
        return {OPEN: value}
    if key == "$some":
        return {"minProperties": value}
    if key == "$oneOf":
        return {"oneOf": [{"required": [name]} for name in value.split()]}
    if key == "$notBoth":
        return {"not": {"required": value.split()}}
    raise InputError(f"type {where}: {key} is not a mark of an object", Location(where))


def parse_expression(text: str, where: str) -> Schema:
    """An expression with its description and default, as canonical schema."""
    expression, _, description = text.partition(" -- ")
    expression, marked, default = expression.partition(" = ")
    text = expression.strip()
    parts = [_parse_term(part, where) for part in text.removesuffix("?").split(" | ")]
    schema = parts[0] if len(parts) == 1 else {"anyOf": parts}
    schema = _wrapped(schema) | {"nullable": True} if text.endswith("?") else schema
    if marked:
        schema = _wrapped(schema) | {"default": parse_yaml(default)}
    if description:
        schema = _wrapped(schema) | {"description": description.strip()}
    return schema


def _wrapped(schema: Schema) -> Schema:
    return {"allOf": [schema]} if "$ref" in schema else schema


def _parse_term(text: str, where: str) -> Schema:
    head, _, rest = text.partition(" ")
    if head in _LISTS:
        return {"type": "array", "items": _parse_term(rest, where), **_LISTS[head]}
    if head == "keyed":
        key, _, rest = rest.partition(" ")
        keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}
        return {"type": "array", "items": _parse_term(rest, where), **keyed}
    if head == "map":
        return {"type": "object", "additionalProperties": _parse_term(rest, where)}
    if head == "enum":
        return {"type": "string", "enum": shlex.split(rest)}
    if head[:1].isupper() and not rest:
        return {"$ref": head}
    if head not in _BASE:
        raise InputError(f"type {where}: {text!r} is not a type", Location(where))
    return {**_BASE[head], **_parse_constraint(head, rest, where)}


def _parse_constraint(base: str, text: str, where: str) -> Schema:
    if not text:
        return {}
    if text.startswith("/") and text.endswith("/"):
        return {"pattern": text[1:-1]}
    match = _RANGE.match(text)
    if not match:
        raise InputError(f"type {where}: {text!r} is not a constraint", Location(where))
    names = ("minLength", "maxLength") if base == "string" else ("minimum", "maximum")
    return {name: int(bound) for name, bound in zip(names, match.groups(), strict=True) if bound}


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        if isinstance(schema.get(_EXTENDS), str):
            yield schema[_EXTENDS]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


class _Library(Mapping[str, Schema]):
    """The types of chartkit's files; a file and a type are read when they are asked for."""

    def __init__(self) -> None:
        self._parsed: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        if name not in self._parsed:
            bodies = (_bodies(file) for file in _FILES)
            body = next((types[name] for types in bodies if name in types), None)
            if body is None:
                raise KeyError(name)
            self._parsed[name] = parse_type(body, name)
        return self._parsed[name]

    def __iter__(self) -> Iterator[str]:
        return (name for file in _FILES for name in _bodies(file))

    def __len__(self) -> int:
        return sum(len(_bodies(file)) for file in _FILES)


@cache
def _bodies(file: str) -> Mapping[str, Any]:
    body: Mapping[str, Any] = read_file(_DATA / file)[0].body
    return body


_LIBRARY = _Library()


def type_library() -> Mapping[str, Schema]:
    """Return every type that ships with chartkit, by name, in canonical form."""
    return _LIBRARY


def resolved(schema: Schema, types: Mapping[str, Schema]) -> Schema:
    """The structural schema: every reference replaced by its type.

    A description or default beside a reference wins over the type's own.
    """
    flat = flattened(schema, types)
    if "$ref" in flat:
        return resolved(types[flat["$ref"]], types)
    return _mapped(flat, lambda part: resolved(part, types))


def flattened(schema: Schema, types: Mapping[str, Schema]) -> Schema:
    """The schema with `$extends` carried out and references with a default written out; plain
    references to types stay."""
    if "allOf" in schema:
        beside = {key: value for key, value in schema.items() if key != "allOf"}
        return {**flattened(types[schema["allOf"][0]["$ref"]], types), **beside}
    base: Schema = {}
    if "$extends" in schema:
        base = flattened(types[schema["$extends"]], types)
        own = {key: value for key, value in schema.items() if key != "$extends"}
        schema = {**base, **own}
        schema["properties"] = {**base.get("properties", {}), **own.get("properties", {})}
        schema["required"] = [*base.get("required", ()), *own.get("required", ())]
    schema = {key: value for key, value in schema.items() if key != "required" or value}
    return _mapped(schema, lambda part: flattened(part, types))


def _mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """The schema with each of its parts changed."""
    out = dict(schema)
    if "properties" in schema:
        out["properties"] = {name: change(field) for name, field in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            out[key] = change(schema[key])
    if "anyOf" in schema:
        out["anyOf"] = [change(part) for part in schema["anyOf"]]
    return out


def json_schema(schema: Schema) -> Schema:
    """A structural schema as JSON Schema (draft 7): unknown fields refused, open parts open."""
    out = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    out.pop("nullable", None)
    if "properties" in schema:
        out["properties"] = {name: json_schema(f) for name, f in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            out[key] = json_schema(schema[key])
    if schema.get("type") == "integer":
        low, high = _BOUNDS.get(schema.get("format", ""), _EXACT)
        out = {"minimum": low, "maximum": high, **out}
    if schema.get(INT_OR_STRING):
        out["type"] = ["integer", "string"]
    if "properties" in schema and not schema.get(OPEN):
        out.setdefault("additionalProperties", False)
    if "anyOf" in schema:
        # A union of scalars as one schema: a constraint binds only the type that it is about.
        parts = [json_schema(part) for part in out.pop("anyOf")]
        merged_schema: Schema = {}
        for schema_part in parts:
            merged_schema |= schema_part | {
                "type": [*merged_schema.get("type", ()), schema_part["type"]]
            }
        out = merged_schema | out
    return _nullable(out) if schema.get("nullable") else out


def _nullable(schema: Schema) -> Schema:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    out = schema | {"type": [*kinds, "null"]}
    return out | {"enum": [*schema["enum"], None]} if "enum" in schema else out
