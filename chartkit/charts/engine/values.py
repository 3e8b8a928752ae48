"""The values of the engine chart: one catalogue gives values.yaml, its schema and its page.

In the source a catalogue is a mapping of keys to sections (mappings: `$doc` describes them,
`$check` is JSON Schema that holds for them besides) and values (`[type, default, description]`,
types in the compact notation of `chartkit.schemas`).
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from chartkit.charts.engine.controllers import SOURCE
from chartkit.documents.reader import Document, read_file, read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.helm.chart_values import Values, read_values
from chartkit.library.templating import render_text
from chartkit.model import Body, Diagnostic, Json, Location, pointed_at, pointer_steps
from chartkit.project.environment import Environment
from chartkit.schemas.compact import (
    Schema,
    json_schema,
    parse_type,
    parse_types,
    resolved,
    type_library,
)
from chartkit.schemas.json_schema import require_no_object

_WIDTH = 96
_DRAFT = "http://json-schema.org/draft-07/schema#"
_WORTH_SHARING = 90
_TEXT = "^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]*$"
"""No control characters: Helm's toYaml gives an empty text for a value that holds one."""
_OVERRIDE = "FeaturesOverride"


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its type in compact notation, its default, and what it is for."""

    type: str
    default: Json
    doc: str


@dataclass(frozen=True, slots=True)
class Section:
    """Values under one key; check: JSON Schema that they must satisfy together."""

    doc: str
    check: Body
    entries: Mapping[str, Value | Section] = field(repr=False)


def read_catalogue(context: Body) -> Section:
    """The chart's values, in the order in which values.yaml has them."""
    top = _read("values/chart.yaml.j2", context)
    for controller in context["controllers"]:
        top[controller["key"]] = _read(
            "values/controller.yaml.j2", {**context, "controller": controller}
        )
    return _section(top)


def _read(name: str, context: Body) -> Body:
    path = SOURCE / name
    text = render_text(path.read_text("utf-8"), context, str(path), SOURCE)
    body: Body = read_text(text, str(path))[0].body
    return body


def _section(body: Body) -> Section:
    entries = {
        key: Value(*entry) if isinstance(entry, list) else _section(entry)
        for key, entry in body.items()
        if not key.startswith("$")
    }
    return Section(body.get("$doc", ""), body.get("$check", {}), entries)


def values_yaml(catalogue: Section, header: str) -> str:
    """values.yaml: every key with its default under its description; header: lines of comment."""
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    return "\n".join([*lines, "", *_yaml_lines(catalogue, 0)]).rstrip() + "\n"


def _yaml_lines(section: Section, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, entry in section.entries.items():
        doc = f"-- {entry.doc}" if entry.doc else ""
        for line in textwrap.wrap(doc, _WIDTH - len(indent)):
            yield f"{indent}# {line}"
        if isinstance(entry, Value):
            yield from (indent + line for line in dump_yaml({key: entry.default}).splitlines())
        else:
            yield f"{indent}{key}:"
            yield from _yaml_lines(entry, depth + 1)
        if not depth:
            yield ""


def own_values(environment: Environment) -> Values:
    """Return the values files of an environment, merged; raise InputError for a missing one."""
    for file in environment.engine_values:
        if not file.path.is_file():
            hint = "paths start at the folder of chartkit.yaml"
            raise InputError(f"there is no values file '{file.path}'", file.location, hint)
    values = read_values([named_file.path for named_file in environment.engine_values])
    for document in values.documents:
        require_no_object(document)
    return values


def at_sources(
    diagnostics: Iterable[Diagnostic], environment: Environment, written: Sequence[Document]
) -> Iterator[Diagnostic]:
    """Yield findings about the engine's values at the places of the project's own files that the
    values come from; written: the values files of the chart."""
    sources = own_values(environment).documents if environment.engine_values else ()
    files = {document.source.file: document for document in written}
    for diagnostic in diagnostics:
        location = diagnostic.location
        source = None
        if location is not None and location.file in files:
            source = _source(location, files[location.file], sources)
        yield diagnostic if source is None else replace(diagnostic, location=source)


def _source(target: Location, written: Document, sources: Sequence[Document]) -> Location | None:
    """The place of the last file with the same value; None where the chart's own edit decides."""
    steps = pointer_steps(target.path)
    for document in reversed(sources if steps else ()):
        location = document.locate(*steps)
        if location.path == target.path:
            same = pointed_at(document.body, steps) == pointed_at(written.body, steps)
            return location if same or isinstance(pointed_at(written.body, steps), dict) else None
    return None


def values_schema(catalogue: Section) -> Schema:
    """values.schema.json: an unknown key is refused, and so is null where a value is needed."""
    # The schema with every object that stands in it more than once moved to `definitions`.
    schema = written_out(catalogue)
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
    return {"$schema": _DRAFT, **_pointed(schema, titles, texts), "definitions": definitions}


def written_out(catalogue: Section) -> Schema:
    """The same schema without references, which is faster to validate with."""
    return _section_schema(catalogue, value_types(catalogue))


def value_types(catalogue: Section) -> Mapping[str, Schema]:
    """Every type that values may have, by name, in canonical form."""
    own = read_file(SOURCE / "values" / "types.yaml")[0].body
    types = {**type_library(), **parse_types(own, type_library())}
    features = catalogue.entries["features"]
    assert isinstance(features, Section)
    return {**types, _OVERRIDE: _section_schema(features, types, partial=True)}


def _section_schema(section: Section, types: Mapping[str, Schema], partial: bool = False) -> Schema:
    properties = {
        key: value_schema(entry, types)
        if isinstance(entry, Value)
        else _section_schema(entry, types, partial)
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
