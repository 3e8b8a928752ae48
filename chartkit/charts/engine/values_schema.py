"""values.schema.json of the engine chart: strict, with a description for every key."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from chartkit.charts.engine.controllers import SOURCE
from chartkit.charts.engine.values import Section, Value
from chartkit.documents.reader import read_file
from chartkit.model import Json
from chartkit.schemas.compact import (
    Schema,
    json_schema,
    parse_type,
    parse_types,
    resolved,
    type_library,
)

_DRAFT = "http://json-schema.org/draft-07/schema#"
_WORTH_SHARING = 90
_TEXT = "^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]*$"
"""No control characters: Helm's toYaml gives an empty text for a value that holds one."""
_OVERRIDE = "FeaturesOverride"


def values_schema(catalogue: Section) -> Schema:
    """values.schema.json: an unknown key is refused, and so is null where a value is needed."""
    return {"$schema": _DRAFT, **_shared(written_out(catalogue))}


def written_out(catalogue: Section) -> Schema:
    """The same schema without references, which is faster to validate with."""
    return _section(catalogue, value_types(catalogue))


def value_types(catalogue: Section) -> Mapping[str, Schema]:
    """Every type that values may have, by name, in canonical form."""
    own = read_file(SOURCE / "values" / "types.yaml")[0].body
    types = {**type_library(), **parse_types(own, type_library())}
    features = catalogue.entries["features"]
    assert isinstance(features, Section)
    return {**types, _OVERRIDE: _section(features, types, partial=True)}


def _section(section: Section, types: Mapping[str, Schema], partial: bool = False) -> Schema:
    properties = {
        key: value_schema(entry, types)
        if isinstance(entry, Value)
        else _section(entry, types, partial)
        for key, entry in section.entries.items()
    }
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    if section.doc:
        schema["description"] = section.doc
    required = [key for key, entry in section.entries.items() if _needed(entry)]
    if required and not partial:
        schema["required"] = required
    return schema | section.check


def _needed(entry: Value | Section) -> bool:
    return isinstance(entry, Section) or not entry.type.endswith("?")


def value_schema(value: Value, types: Mapping[str, Schema]) -> Schema:
    """The JSON Schema of one value."""
    parsed = parse_type(value.type, value.doc)
    schema: Schema = _writable(json_schema(resolved(parsed, types)))
    return {"description": value.doc, **schema}


def _writable(schema: Json) -> Json:
    """The schema with every text held to characters that come through Helm's YAML."""
    if isinstance(schema, list):
        return [_writable(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: _writable(part) for key, part in schema.items()}
    if "string" in out.get("type", ()) and "pattern" not in out and "enum" not in out:
        out["pattern"] = _TEXT
    return out


def _shared(schema: Schema) -> Schema:
    """The schema with every object that stands in it more than once moved to `definitions`."""
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    texts: dict[int, str] = {}
    for key, part in _objects(schema, "values"):
        text = texts[id(part)] = _key(part)
        counts[text] += 1
        names.setdefault(text, key)
    repeated = {text for text, count in counts.items() if count > 1 and len(text) > _WORTH_SHARING}
    titles: dict[str, str] = {}
    for text in sorted(repeated, key=lambda text: (names[text], text)):
        title = names[text]
        number = 2
        while title in titles.values():
            title, number = f"{names[text]}{number}", number + 1
        titles[text] = title
    bodies = {title: json.loads(text) for text, title in titles.items()}
    definitions = {title: _below(body, titles, {}) for title, body in bodies.items()}
    return {**_pointed(schema, titles, texts), "definitions": definitions}


def _key(part: Schema) -> str:
    return json.dumps({key: value for key, value in part.items() if key != "description"})


def _objects(schema: Json, key: str) -> Iterator[tuple[str, Schema]]:
    if isinstance(schema, list):
        for part in schema:
            yield from _objects(part, key)
    if not isinstance(schema, dict):
        return
    if _is_object(schema):
        yield key, schema
    for name, part in schema.get("properties", {}).items():
        yield from _objects(part, name)
    for step in ("items", "additionalProperties"):
        yield from _objects(schema.get(step), key)


def _is_object(schema: Schema) -> bool:
    return "properties" in schema or "pattern" in schema or "items" in schema


def _pointed(schema: Json, titles: Mapping[str, str], texts: Mapping[int, str]) -> Json:
    """Return a schema with references to the definitions; texts: keys of its parts, as far as they
    are known, by the parts' identities."""
    if isinstance(schema, list):
        return [_pointed(part, titles, texts) for part in schema]
    if not isinstance(schema, dict):
        return schema
    title = titles.get(texts.get(id(schema)) or _key(schema)) if _is_object(schema) else None
    if title:
        pointer: Schema = {"$ref": f"#/definitions/{title}"}
        doc = schema.get("description")
        return {"description": doc, **pointer} if doc else pointer
    return _below(schema, titles, texts)


def _below(schema: Schema, titles: Mapping[str, str], texts: Mapping[int, str]) -> Schema:
    out = dict(schema)
    if "properties" in schema:
        out["properties"] = {
            name: _pointed(part, titles, texts) for name, part in schema["properties"].items()
        }
    for step in ("items", "additionalProperties"):
        if step in schema:
            out[step] = _pointed(schema[step], titles, texts)
    return out


def schema_text(schema: Schema) -> str:
    """The schema as it is written."""
    return json.dumps(schema, indent=1) + "\n"
