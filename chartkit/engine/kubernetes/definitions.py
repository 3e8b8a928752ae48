"""What the custom resource definitions of Kyverno's kinds find in a document, from the compact
schemas that the definitions themselves are made of (`chartkit.schemas`)."""

from __future__ import annotations

from functools import cache
from typing import Final

from chartkit.engine.kubernetes.schema import (
    Check,
    Problem,
    anything,
    boolean,
    integer,
    list_of,
    map_of,
    struct,
    text,
)
from chartkit.model import Json
from chartkit.schemas.compact import OPEN, Schema
from chartkit.schemas.convert import flattened, type_library

_METADATA: Final = struct(
    {"annotations": map_of(text()), "labels": map_of(text())}, open_ended=True
)
_OBJECT: Final[dict[str, Check]] = {
    "apiVersion": text(),
    "kind": text(),
    "metadata": _METADATA,
    "status": anything,
}
"""What every object has; the status is Kyverno's to write, and never read."""


@cache
def definition_check(kind: str) -> Check:
    """The check of a whole object by a type of `chartkit.schemas`, such as `PolicyV1`."""
    types = type_library()
    schema = flattened(types[kind], types)
    fields = {name: _check(field) for name, field in schema["properties"].items()}
    required = ("metadata", *schema.get("required", ()))
    return struct({**fields, **_OBJECT}, required=required)


@cache
def named_check(name: str, *, loaded: bool = False) -> Check:
    """The check of a part by the name of its type.

    loaded: as Kyverno loads it where its definition leaves it open: no value of an enumeration is
    refused, and no unknown field.
    """
    types = type_library()
    return _check(flattened(types[name], types), name, loaded)


def _check(schema: Schema, owner: str = "", loaded: bool = False) -> Check:
    if "$ref" in schema:
        return named_check(schema["$ref"], loaded=loaded)
    kind = schema.get("type")
    if kind == "string":
        among = () if loaded else tuple(schema.get("enum", ()))
        return text(among=among, longest=schema.get("maxLength", 0))
    if kind == "integer":
        return integer(least=schema.get("minimum"))
    if kind == "array":
        return list_of(_check(schema["items"], loaded=loaded))
    if kind == "object":
        return _object(schema, owner, loaded)
    return boolean if kind == "boolean" else anything


def _object(schema: Schema, owner: str, loaded: bool) -> Check:
    if "additionalProperties" in schema:
        return map_of(_check(schema["additionalProperties"], loaded=loaded))
    properties: Schema = schema.get("properties", {})
    fields = {
        name: _LOADED.get((owner, name)) or _check(field, loaded=loaded)
        for name, field in properties.items()
    }
    return struct(
        fields,
        required=tuple(schema.get("required", ())),
        exclusive=tuple(schema.get("not", {}).get("required", ())),
        one_of=tuple(one["required"][0] for one in schema.get("oneOf", ())),
        open_ended=loaded or bool(schema.get(OPEN)),
    )


def _conditions(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
    """An any/all block, or the flat list of conditions that Kyverno still takes."""
    if isinstance(value, list):
        return list_of(named_check("Condition", loaded=True))(value, path)
    return named_check("AnyAllConditions", loaded=True)(value, path)


def _loops(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
    return list_of(named_check("ForEachValidation", loaded=True))(value, path)


def _mutating_loops(value: Json, path: tuple[str | int, ...]) -> list[Problem]:
    return list_of(named_check("ForEachMutation", loaded=True))(value, path)


_LOADED: Final[dict[tuple[str, str], Check]] = {
    ("Rule", "preconditions"): _conditions,
    ("Deny", "conditions"): _conditions,
    ("MutationTarget", "preconditions"): _conditions,
    ("ForEachValidation", "foreach"): _loops,
    ("ForEachMutation", "foreach"): _mutating_loops,
}
"""Fields, by type and name, that the definitions leave open but Kyverno loads no other types in."""
