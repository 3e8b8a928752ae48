"""The values of the engine chart: one catalogue gives values.yaml, its schema and its page.

A catalogue is a mapping of keys to sections (mappings, `$doc` describes them) and values
(`[type, default, description]`, types in the compact notation of `chartkit.schemas`).
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chartkit.chart.engine_source import SOURCE
from chartkit.chart.templating import render_text
from chartkit.documents import read_file, read_text
from chartkit.model import Body, Json
from chartkit.schemas.compact import Schema, parse_type, parse_types
from chartkit.schemas.convert import json_schema, resolved, type_library
from chartkit.yaml_dump import dump_yaml

_WIDTH = 96
_DOC = "$doc"
_WORTH_SHARING = 120
_OVERRIDE = "FeaturesOverride"


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its type in compact notation, its default, and what it is for."""

    type: str
    default: Json
    doc: str


Catalogue = Mapping[str, Any]
"""Keys to `Value` or to a catalogue; `$doc` to a description."""


def read_catalogue(context: Body) -> Catalogue:
    """The chart's values, in the order in which values.yaml has them."""
    top = _read("values/chart.yaml.j2", context)
    for controller in context["controllers"]:
        top[controller["key"]] = _read(
            "values/controller.yaml.j2", {**context, "controller": controller}
        )
    return _catalogue(top)


def _read(name: str, context: Body) -> Body:
    path = SOURCE / name
    text = render_text(path.read_text("utf-8"), context, str(path), SOURCE)
    body: Body = read_text(text, str(path))[0].body
    return body


def _catalogue(body: Body) -> Catalogue:
    return {
        key: Value(*entry)
        if isinstance(entry, list)
        else _catalogue(entry)
        if key != _DOC
        else entry
        for key, entry in body.items()
    }


def defaults(catalogue: Catalogue) -> Body:
    """The default values as Helm reads them."""
    return {
        key: entry.default if isinstance(entry, Value) else defaults(entry)
        for key, entry in catalogue.items()
        if key != _DOC
    }


def values_yaml(catalogue: Catalogue, header: str) -> str:
    """values.yaml: every key with its default under its description; header: lines of comment."""
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    return "\n".join([*lines, "", *_yaml_lines(catalogue, 0)]).rstrip() + "\n"


def _yaml_lines(catalogue: Catalogue, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, entry in catalogue.items():
        if key == _DOC:
            continue
        doc = entry.doc if isinstance(entry, Value) else entry.get(_DOC, "")
        for line in textwrap.wrap(doc, _WIDTH - len(indent)):
            yield f"{indent}# {line}"
        if isinstance(entry, Value):
            yield from (indent + line for line in dump_yaml({key: entry.default}).splitlines())
        else:
            yield f"{indent}{key}:"
            yield from _yaml_lines(entry, depth + 1)
        if not depth:
            yield ""


def values_schema(catalogue: Catalogue) -> Schema:
    """values.schema.json: an unknown key is refused, and so is null where a value is needed."""
    own = read_file(SOURCE / "values" / "types.yaml")[0].body
    types = {**type_library(), **parse_types(own, type_library())}
    features = {key: entry for key, entry in catalogue["features"].items() if key != _DOC}
    types[_OVERRIDE] = _section(features, types, partial=True)
    schema = _section(catalogue, types)
    return {"$schema": "http://json-schema.org/draft-07/schema#", **_shared(schema)}


def _section(catalogue: Catalogue, types: Mapping[str, Schema], partial: bool = False) -> Schema:
    properties = {
        key: _property(entry, types)
        if isinstance(entry, Value)
        else _section(entry, types, partial)
        for key, entry in catalogue.items()
        if key != _DOC
    }
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    if _DOC in catalogue:
        schema["description"] = catalogue[_DOC]
    required = [key for key, entry in catalogue.items() if key != _DOC and _needed(entry)]
    return schema if partial or not required else schema | {"required": required}


def _needed(entry: Value | Catalogue) -> bool:
    return not isinstance(entry, Value) or not entry.type.endswith("?")


def _property(value: Value, types: Mapping[str, Schema]) -> Schema:
    parsed = parse_type(value.type, value.doc)
    return {"description": value.doc, **json_schema(resolved(parsed, types))}


def _shared(schema: Schema) -> Schema:
    """The schema with every object that stands in it more than once moved to `definitions`."""
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    for key, part in _objects(schema, "values"):
        text = _key(part)
        counts[text] += 1
        names.setdefault(text, key)
    repeated = {text for text, count in counts.items() if count > 1 and len(text) > _WORTH_SHARING}
    titles: dict[str, str] = {}
    for text in sorted(repeated, key=lambda text: (names[text], text)):
        title = names[text]
        while title in titles.values():
            title += "_"
        titles[text] = title
    definitions = {
        title: _pointed(json.loads(text), titles, inside=text) for text, title in titles.items()
    }
    return {**_pointed(schema, titles), "definitions": definitions}


def _key(part: Schema) -> str:
    return json.dumps({key: value for key, value in part.items() if key != "description"})


def _objects(schema: Json, key: str) -> Iterator[tuple[str, Schema]]:
    if isinstance(schema, list):
        for part in schema:
            yield from _objects(part, key)
    if not isinstance(schema, dict):
        return
    if "properties" in schema or "pattern" in schema or "items" in schema:
        yield key, schema
    for name, part in schema.get("properties", {}).items():
        yield from _objects(part, name)
    for step in ("items", "additionalProperties"):
        yield from _objects(schema.get(step), key)


def _pointed(schema: Json, titles: Mapping[str, str], inside: str = "") -> Json:
    if isinstance(schema, list):
        return [_pointed(part, titles) for part in schema]
    if not isinstance(schema, dict):
        return schema
    title = titles.get(text) if (text := _key(schema)) != inside else None
    if title:
        pointer: Schema = {"$ref": f"#/definitions/{title}"}
        doc = schema.get("description")
        return {"description": doc, **pointer} if doc else pointer
    out = dict(schema)
    if "properties" in schema:
        out["properties"] = {
            name: _pointed(part, titles) for name, part in schema["properties"].items()
        }
    for step in ("items", "additionalProperties"):
        if step in schema:
            out[step] = _pointed(schema[step], titles)
    return out


def schema_text(schema: Schema) -> str:
    """The schema as it is written."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
