"""Makes `chartkit/engine/kubernetes/kinds.json` from Kubernetes' own schemas.

    python tools/kind_shapes.py > chartkit/engine/kubernetes/kinds.json

The schemas are those of the development dependency kubernetes-validate. Kept are the kinds that
are objects with metadata, and all types below them: by the type of a field, the names of the
fields that have it, `!` behind those that are required. How a type is written: see
`chartkit.engine.kubernetes.field_faults`.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from typing import Any, Final

VERSION: Final = "1.37.0"

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


def main() -> None:
    """Writes the table to standard output, one type a line."""
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{VERSION}-local"
    definitions = json.loads((folder / "_definitions.json").read_text("utf-8"))["$defs"]
    table = compact(definitions)
    parts = [f'{{\n"source": "Kubernetes {VERSION}"']
    for name, entries in table.items():
        lines = [
            f"{json.dumps(key)}: {json.dumps(entry, separators=(',', ':'))}"
            for key, entry in entries.items()
        ]
        parts.append(f'"{name}": {{\n' + ",\n".join(lines) + "\n}")
    sys.stdout.write(",\n".join(parts) + "}\n")


if __name__ == "__main__":
    main()
