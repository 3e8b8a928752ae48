"""A policy's parts as Go's JSON encoder prints Kyverno's types; error texts quote them so."""

from __future__ import annotations

from typing import Any, Final

from chartkit.engine.ports.signatures import kyverno_types
from chartkit.go.fmt import go_json
from chartkit.model import Body, Json
from chartkit.schemas.compact import Schema, flattened, type_library

SELECTOR: Final = "v1.LabelSelector"
_LIST: Final = "[]"
_CONDITIONS: Final = "Conditions"


def rule_json(body: Body, api_version: str = "kyverno.io/v1") -> str:
    """A rule with the defaults of its custom resource definition."""
    name = "RuleV2" if api_version.endswith("/v2beta1") else "Rule"
    return typed_json("v1.Rule", with_defaults({"$ref": name}, body))


def with_defaults(schema: Schema, value: Json) -> Any:
    """Return a value with the defaults of its type in `chartkit.schemas`, below it too."""
    types = type_library()
    if "$ref" in schema:
        schema = flattened(types[schema["$ref"]], types)
    if isinstance(value, list):
        return [with_defaults(schema.get("items", {}), element) for element in value]
    if not isinstance(value, dict):
        return value
    fields: Schema = schema.get("properties", {})
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    given = {name: with_defaults(fields.get(name, {}), member) for name, member in value.items()}
    return {**defaults, **given}


def typed_json(struct: str, body: Body) -> str:
    """An object of a type of Kyverno's API, its fields in Go's order."""
    parts = []
    for entry, kind in kyverno_types()[struct].items():
        name = entry.removesuffix("!")
        value = body.get(name)
        if value is None or value in _EMPTY.get(kind.partition("[")[0], ((), [])):
            if name == entry:
                continue
            value = None
        parts.append(f'"{name}":{_printed(kind, value)}')
    return "{" + ",".join(parts) + "}"


_EMPTY: Final[dict[str, tuple[Json, ...]]] = {
    **dict.fromkeys(("Raw", "*bool", "*string"), ()),
    "map": ({},),
    "bool": (False,),
    "int=int64": (0,),
    **dict.fromkeys(("string", "v1.ImageVerificationType=string"), ("",)),
}
"""Values that `omitempty` leaves out, by the beginning of their type; of all others no elements."""


def _printed(kind: str, value: Json) -> str:
    types = kyverno_types()
    element = kind.removeprefix(_LIST)
    if kind == _CONDITIONS:
        element = "v1.Condition"
        kind = _LIST if isinstance(value, list) else "v1.AnyAllConditions"
    if kind.startswith(_LIST) and element in types and value:
        return "[" + ",".join(typed_json(element, item) for item in value) + "]"
    if kind in types:
        return typed_json(kind, value or {})
    return go_json(_ZEROES.get(kind) if value is None else value)


_ZEROES: Final[dict[str, Json]] = {"string": "", "bool": False}
