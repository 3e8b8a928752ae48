"""From canonical schemas to structural ones and to JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from chartkit.documents.reader import read_file
from chartkit.schemas.compact import INT_OR_STRING, OPEN, Schema, parse_types

_DATA = Path(__file__).parent
_FILES = ("kubernetes.yaml", "kyverno.yaml", "policies.yaml", "reports.yaml")

_EXACT = (-(2**53) + 1, 2**53 - 1)
_BOUNDS = {"int32": (-(2**31), 2**31 - 1)}
"""The integers that come through JSON unharmed, and those that fit the format."""


@cache
def type_library() -> Mapping[str, Schema]:
    """Every type that ships with chartkit, by name, in canonical form."""
    document: dict[str, Any] = {}
    for name in _FILES:
        document |= read_file(_DATA / name)[0].body
    return parse_types(document)


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
        out = _merged([json_schema(part) for part in out.pop("anyOf")]) | out
    return _nullable(out) if schema.get("nullable") else out


def _merged(parts: Sequence[Schema]) -> Schema:
    """A union of scalars as one schema: a constraint binds only the type that it is about."""
    out: Schema = {}
    for part in parts:
        out |= part | {"type": [*out.get("type", ()), part["type"]]}
    return out


def _nullable(schema: Schema) -> Schema:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    out = schema | {"type": [*kinds, "null"]}
    return out | {"enum": [*schema["enum"], None]} if "enum" in schema else out
