"""Makes `apply_types.json` of `engine/cel_policies/patches/` from Kubernetes' OpenAPI v3 documents.

    python tools/apply_types.py 1.35/ > chartkit/engine/cel_policies/patches/apply_types.json

The folder holds what an API server of that release serves under `/openapi/v3`, a file a group and
version. Kept is what a server-side apply asks: which fields an object has, of which sort their
values are, how lists and maps are merged, and the defaults of the keys of lists.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_PREFIXES: Final = ("io.k8s.api.", "io.k8s.apimachinery.pkg.", "io.k8s.")
_SCALARS: Final = {"string": "s", "integer": "n", "number": "n", "boolean": "b"}
_ANYTHING: Final = "u"
_FREE: Final = "d"
_KINDS: Final = "x-kubernetes-group-version-kind"

Schema = dict[str, Any]


def compact(schemas: dict[str, Schema], release: str) -> dict[str, Any]:
    """The kinds and the types that they lead to; see `cel_policies.patches.apply_types`."""
    kinds = dict(sorted(_kinds(schemas)))
    pending, types = sorted(set(kinds.values())), {}
    while pending:
        name = pending.pop()
        if name in types:
            continue
        types[name] = _type(schemas[name])
        pending += sorted(_named(types[name]))
    _add_defaults(types, schemas)
    return {
        "source": f"Kubernetes {release}, /openapi/v3",
        "kinds": {key: _short(name) for key, name in kinds.items()},
        "types": {_short(name): _shortened(types[name]) for name in sorted(types)},
    }


def _kinds(schemas: dict[str, Schema]) -> Iterator[tuple[str, str]]:
    for name, schema in schemas.items():
        kinds: list[dict[str, str]] = schema.get(_KINDS) or []
        if len(kinds) != 1 or "metadata" not in schema.get("properties", {}):
            continue
        if schema["properties"].get("items"):
            continue
        version = "/".join(filter(None, (kinds[0]["group"], kinds[0]["version"])))
        yield f"{version}/{kinds[0]['kind']}", name


def _type(schema: Schema) -> Any:
    """A place: a scalar's letter, `@` and a type's name, a list or a map, or an object's fields."""
    reference = _reference(schema)
    if reference:
        return ["!", f"@{reference}"] if _is_atomic(schema) else f"@{reference}"
    if "oneOf" in schema or schema.get("format") == "int-or-string":
        return _ANYTHING
    kind = schema.get("type")
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "array":
        return [*_relation(schema), _type(schema["items"])]
    return _object(schema)


def _reference(schema: Schema) -> str:
    whole = schema.get("allOf") or [schema]
    return str(whole[0].get("$ref", "")).rpartition("/")[2] if len(whole) == 1 else ""


def _is_atomic(schema: Schema) -> bool:
    return schema.get("x-kubernetes-map-type") == "atomic"


def _relation(schema: Schema) -> list[Any]:
    """How a list is merged: as one, as a set, or by its elements' keys."""
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map":
        return ["map", schema["x-kubernetes-list-map-keys"]]
    if kind == "set":
        return ["set"]
    strategy = schema.get("x-kubernetes-patch-strategy", "").split(",")
    if kind == "atomic" or "merge" not in strategy:
        return ["atomic"]
    key = schema.get("x-kubernetes-patch-merge-key")
    return ["map", [key]] if key else ["set"]


def _object(schema: Schema) -> Any:
    fields = schema.get("properties")
    values = schema.get("additionalProperties")
    if not fields:
        if not isinstance(values, dict):
            return _FREE
        return ["values!" if _is_atomic(schema) else "values", _type(values)]
    made: dict[str, Any] = {"fields": {key: _type(value) for key, value in sorted(fields.items())}}
    if _is_atomic(schema):
        made["atomic"] = True
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        made["open"] = True
    return made


def _named(place: Any) -> Iterator[str]:
    if isinstance(place, str) and place.startswith("@"):
        yield place[1:]
    elif isinstance(place, list):
        for part in place:
            yield from _named(part)
    elif isinstance(place, dict):
        for part in place["fields"].values():
            yield from _named(part)


def _add_defaults(types: dict[str, Any], schemas: dict[str, Schema]) -> None:
    """Notes the defaults of fields that are keys of a list."""
    for place in list(types.values()):
        for part in place["fields"].values() if isinstance(place, dict) else ():
            if not isinstance(part, list) or part[0] != "map":
                continue
            element = str(part[-1]).removeprefix("@")
            for key in part[1]:
                default = schemas[element]["properties"].get(key, {}).get("default")
                if default is not None:
                    types[element].setdefault("defaults", {})[key] = default


def _shortened(place: Any) -> Any:
    if isinstance(place, str):
        return f"@{_short(place[1:])}" if place.startswith("@") else place
    if isinstance(place, list):
        return [
            part
            if isinstance(part, list) and place[0] == "map" and part is place[1]
            else _shortened(part)
            for part in place
        ]
    return {**place, "fields": {key: _shortened(part) for key, part in place["fields"].items()}}


def _short(name: str) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def main(folder: str) -> None:
    """Writes the table of a folder of documents to standard output, one type a line."""
    schemas: dict[str, Schema] = {}
    for path in sorted(Path(folder).rglob("*.json")):
        schemas.update(json.loads(path.read_text("utf-8"))["components"]["schemas"])
    table = compact(schemas, Path(folder).name)
    lines = [
        f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
        for key, value in table["types"].items()
    ]
    head = json.dumps({"source": table["source"], "kinds": table["kinds"]}, indent=1)
    sys.stdout.write(head.removesuffix("\n}") + ',\n "types": {\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main(sys.argv[1])
