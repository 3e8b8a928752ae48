"""Makes `merge_keys.json` of `cluster_policy/mutate/` from Kubernetes' own OpenAPI definitions.

    python tools/merge_keys.py swagger.json > chartkit/engine/cluster_policy/mutate/merge_keys.json

Kyverno 1.19 merges with kustomize's kyaml 0.21, whose built-in definitions are those of
Kubernetes 1.21.2 (`api/openapi-spec/swagger.json` of that release). Kept is every list whose
patch strategy is `merge`, with its keys, and the objects on the way to one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

SOURCE: Final = "Kubernetes 1.21.2, api/openapi-spec/swagger.json"

_PREFIXES: Final = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.")
_OPAQUE: Final = ""

Definitions = dict[str, dict[str, Any]]


def compact(definitions: Definitions) -> dict[str, Any]:
    """The kinds and the types that matter for merging; see `cluster_policy.mutate.schema`."""
    kept = _on_the_way(definitions)
    types = {name: _fields(definitions, name, kept) for name in sorted(kept)}
    kinds = {}
    for name in sorted(kept):
        for kind in definitions[name].get("x-kubernetes-group-version-kind") or ():
            version = "/".join(filter(None, (kind["group"], kind["version"])))
            kinds[f"{version}/{kind['kind']}"] = _short(name)
    return {
        "source": SOURCE,
        "kinds": {key: kinds[key] for key in sorted(kinds)},
        "types": {_short(name): fields for name, fields in types.items()},
    }


def _on_the_way(definitions: Definitions) -> set[str]:
    kept: set[str] = set()
    grown = True
    while grown:
        grown = False
        for name, definition in definitions.items():
            if name not in kept and _leads(definition, kept):
                kept.add(name)
                grown = True
    return kept


def _leads(definition: dict[str, Any], kept: set[str]) -> bool:
    fields = definition.get("properties") or {}
    return any(_is_merged(field) or _target(field) in kept for field in fields.values())


def _is_merged(field: dict[str, Any]) -> bool:
    strategy = field.get("x-kubernetes-patch-strategy", "")
    return field.get("type") == "array" and "merge" in strategy.split(",")


def _target(field: dict[str, Any]) -> str:
    """The type of an object, or of the values of a map; lists are not looked into."""
    values = field.get("additionalProperties")
    reference = (values if isinstance(values, dict) else field).get("$ref", "")
    return str(reference).rpartition("/")[2]


def _fields(definitions: Definitions, name: str, kept: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, field in sorted((definitions[name].get("properties") or {}).items()):
        target = _target(field)
        if _is_merged(field):
            keys = field.get("x-kubernetes-list-map-keys") or [
                field.get("x-kubernetes-patch-merge-key")
            ]
            element = _target(field["items"])
            found[key] = [_short(element) if element in kept else _OPAQUE, *filter(None, keys)]
        elif target in kept:
            entry = _short(target)
            found[key] = {"values": entry} if "additionalProperties" in field else entry
        elif target and _names_a_kind(definitions.get(target, {})):
            found[key] = _OPAQUE
    return found


def _names_a_kind(definition: dict[str, Any]) -> bool:
    """Whether its objects look like whole objects, or may be anything."""
    fields = definition.get("properties")
    return fields is None or {"apiVersion", "kind"} <= fields.keys()


def _short(name: str) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def main(path: str) -> None:
    """Writes the table of a swagger file to standard output, one type a line."""
    swagger = json.loads(Path(path).read_text("utf-8"))
    builtin = {
        name: definition
        for name, definition in swagger["definitions"].items()
        if name.startswith("io.k8s.") and not name.endswith(".Kustomization")
    }
    table = compact(builtin)
    lines = [
        f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
        for key, value in table["types"].items()
    ]
    head = json.dumps({"source": table["source"], "kinds": table["kinds"]}, indent=1)
    sys.stdout.write(head.removesuffix("\n}") + ',\n "types": {\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main(sys.argv[1])
