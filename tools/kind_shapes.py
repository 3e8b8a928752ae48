"""Makes `chartkit/engine/kubernetes/kinds.json` from Kubernetes' own schemas.

    python tools/kind_shapes.py > chartkit/engine/kubernetes/kinds.json

The schemas are those of the development dependency kubernetes-validate. Kept are the kinds that
are objects with metadata, and all types below them: by the type of a field, the names of the
fields that have it, `!` behind those that are required. How a type is written: see
`chartkit.engine.kubernetes.field_faults`. Older schemas tell which minor version a kind or field
came with (`since`), and which one was the last to have it (`until`).
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from typing import Any, Final

OLDEST: Final = 25
NEWEST: Final = 37
"""The minor versions whose schemas are compared."""

_PREFIXES: Final = (
    "io.k8s.apiextensions-apiserver.pkg.apis.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.kube-aggregator.pkg.apis.",
    "io.k8s.api.",
)
_SCALARS: Final = {"string": "string", "integer": "int", "number": "double", "boolean": "bool"}
_ANYTHING: Final = "dyn"
_TEXT_OR_NUMBER: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
}
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

Definitions = dict[str, dict[str, Any]]


def compact(definitions: Definitions) -> dict[str, Any]:
    """The kinds by their versions, and the types of everything that they hold."""
    kinds = {
        "/".join(filter(None, (each["group"], each["version"], each["kind"]))): name
        for name, definition in definitions.items()
        for each in definition.get("x-kubernetes-group-version-kind", ())
        if _reference(definition.get("properties", {}).get("metadata", {})) == _METADATA
    }
    types: dict[str, dict[str, str]] = {}
    waiting = list(kinds.values())
    while waiting:
        name = waiting.pop()
        if short_name(name) in types or "properties" not in definitions[name]:
            continue
        fields = definitions[name]["properties"]
        required = frozenset(definitions[name].get("required") or ())
        types[short_name(name)] = _grouped(definitions, fields, required)
        waiting += [found for field in fields.values() if (found := _below(field))]
    return {
        "kinds": {kind: short_name(kinds[kind]) for kind in sorted(kinds)},
        "types": {name: types[name] for name in sorted(types)},
    }


def short_name(name: str) -> str:
    """A definition's name without what all of them have in common: `core.v1.Pod`."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def _grouped(
    definitions: Definitions, fields: dict[str, Any], required: frozenset[str]
) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name in sorted(fields):
        written = f"{name}!" if name in required else name
        found.setdefault(_type(definitions, fields[name]), []).append(written)
    return {kind: " ".join(found[kind]) for kind in sorted(found)}


def _type(definitions: Definitions, schema: dict[str, Any]) -> str:
    """How the table writes a schema; what has several forms, a time and bytes may be anything.

    Times and bytes are texts when a policy sees them, though Kubernetes' schemas say otherwise.
    """
    reference = _reference(schema)
    if reference in _TEXT_OR_NUMBER:
        return _TEXT_OR_NUMBER[reference]
    if reference:
        return short_name(reference) if "properties" in definitions[reference] else _ANYTHING
    kind = _kind(schema)
    if kind == "array":
        return f"[]{_type(definitions, schema['items'])}"
    if kind == "object" and "additionalProperties" in schema:
        return f"{{}}{_type(definitions, schema['additionalProperties'])}"
    return _ANYTHING if "format" in schema and kind == "string" else _SCALARS.get(kind, _ANYTHING)


def _kind(schema: dict[str, Any]) -> str:
    # Where a field may be null, `type` is a list.
    kinds = schema.get("type", "")
    if isinstance(kinds, list):
        return next(str(each) for each in kinds if each != "null")
    return str(kinds)


def _below(schema: dict[str, Any]) -> str:
    for key in ("items", "additionalProperties"):
        if key in schema:
            return _below(schema[key])
    return _reference(schema)


def _reference(schema: dict[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def history(tables: dict[int, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """When kinds and fields came and went: by the kind, and by the type and the minor version.

    tables: those of all minor versions, oldest first. What the oldest has is in no `since`.
    """
    since: dict[str, Any] = {}
    until: dict[str, Any] = {}
    newest = tables[NEWEST]
    for minor, table in tables.items():
        for kind in table["kinds"]:
            if minor > OLDEST:
                since.setdefault(kind, minor)
            until[kind] = minor
    kinds_of_oldest = tables[OLDEST]["kinds"]
    kinds = {
        "kinds": {kind: minor for kind, minor in since.items() if kind not in kinds_of_oldest},
        "fields": _first(tables, newest),
    }
    gone = {
        "kinds": {kind: minor for kind, minor in until.items() if minor < NEWEST},
        "fields": _last(tables, newest),
    }
    return {"since": kinds, "until": gone}


def _first(tables: dict[int, dict[str, Any]], newest: dict[str, Any]) -> dict[str, Any]:
    """The fields of types of the newest table that their types did not have from the beginning."""
    found: dict[str, dict[str, str]] = {}
    for name, type_ in newest["types"].items():
        had = [(minor, _names(table, name)) for minor, table in tables.items()]
        (first, fields), *later = [(minor, names) for minor, names in had if names]
        del first
        for minor, names in later:
            if added := sorted((names - fields) & _names_of(type_)):
                found.setdefault(name, {})[str(minor)] = " ".join(added)
            fields |= names
    return found


def _last(tables: dict[int, dict[str, Any]], newest: dict[str, Any]) -> dict[str, Any]:
    """The fields that types of the newest table had before."""
    found: dict[str, dict[str, str]] = {}
    for name, type_ in newest["types"].items():
        fields = _names_of(type_)
        for minor in sorted(tables, reverse=True):
            if gone := sorted(_names(tables[minor], name) - fields):
                found.setdefault(name, {})[str(minor)] = " ".join(gone)
                fields |= set(gone)
    return found


def _names(table: dict[str, Any], type_name: str) -> set[str]:
    return _names_of(table["types"].get(type_name, {}))


def _names_of(type_: dict[str, str]) -> set[str]:
    return {name.removesuffix("!") for names in type_.values() for name in names.split()}


def _definitions(minor: int) -> Definitions:
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v1.{minor}.0-local"
    content = json.loads((folder / "_definitions.json").read_text("utf-8"))
    definitions: Definitions = content.get("$defs") or content["definitions"]
    return definitions


def main() -> None:
    """Writes the table to standard output, one type a line."""
    tables = {minor: compact(_definitions(minor)) for minor in range(OLDEST, NEWEST + 1)}
    past = history(tables)
    table = tables[NEWEST] | {
        f"{name}{part.capitalize()}": past[name][part]
        for name in ("since", "until")
        for part in ("kinds", "fields")
    }
    parts = [f'{{\n"source": "Kubernetes 1.{NEWEST}.0"']
    for name, entries in table.items():
        lines = [
            f"{json.dumps(key)}: {json.dumps(entry, separators=(',', ':'))}"
            for key, entry in entries.items()
        ]
        parts.append(f'"{name}": {{\n' + ",\n".join(lines) + "\n}")
    sys.stdout.write(",\n".join(parts) + "}\n")


if __name__ == "__main__":
    main()
