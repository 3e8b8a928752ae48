"""The fields of the files of Kyverno's command line.

Kyverno decodes these files strictly: fields match regardless of case, another field is an error,
and a scalar where a text belongs becomes one (`sigs.k8s.io/yaml`, `UnmarshalStrict`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.go.fmt import format_float
from chartkit.model import Body, Json, Location
from chartkit.schemas.compact import Schema, flattened, parse_types
from chartkit.suggestions import suggestion

METADATA: Final = "Metadata"
INLINE_VALUES: Final = "InlineValues"
VALUES: Final = "Values"
CONTEXT: Final = "Context"
CLUSTER_RESOURCES: Final = "ClusterResources"
API_CALLS: Final = "APICalls"
GLOBAL_ENTRIES: Final = "GlobalEntries"


@cache
def _types() -> Mapping[str, Schema]:
    types = parse_types(read_file(Path(__file__).with_name("fields.yaml"))[0].body)
    return {name: flattened(schema, types) for name, schema in types.items()}


def decoded(value: Json, shape: str, what: str, location: Location, pointer: str = "") -> Json:
    """Return a value with the fields' own names and texts in place of scalars.

    shape: the name of its type; what: the value's name in messages; pointer: its place below the
    location. Raises InputError for a field that there is not, and for a list or mapping where there
    must not be one.
    """
    return _decoded(value, _types()[shape], what, location, pointer)


def _decoded(value: Json, schema: Schema, what: str, location: Location, pointer: str) -> Json:
    schema = _types()[schema["$ref"]] if "$ref" in schema else schema
    kind = schema.get("type")
    if value is None or value in ({}, []) or kind is None:
        return value
    if kind == "string":
        if isinstance(value, list | dict):
            raise InputError(f"{what} must be a text", location)
        if isinstance(value, bool):
            return "true" if value else "false"
        return format_float(value) if isinstance(value, float) else str(value)
    if kind == "array":
        if not isinstance(value, list):
            raise InputError(f"{what} must be a list", location)
        each = f"each of {what}"
        return [
            _decoded(item, schema["items"], each, location, f"{pointer}/{index}")
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        raise InputError(f"{what} must be a mapping", location)
    fields: Mapping[str, Schema] = schema.get("properties", {})
    known = {name.lower(): name for name in fields}
    found: Body = {}
    for key, member in value.items():
        place = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
        if "additionalProperties" in schema:
            name, inner = str(key), schema["additionalProperties"]
        elif str(key).lower() in known:
            name = known[str(key).lower()]
            inner = fields[name]
        else:
            hint = suggestion(str(key), fields) or f"known are {', '.join(fields)}"
            raise InputError(f"unknown field '{key}'", location.within(place), hint)
        found[name] = _decoded(member, inner, name, location, place)
    return found
