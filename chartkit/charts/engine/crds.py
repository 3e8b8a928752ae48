"""The engine chart's custom resource definitions: a named template a type, so each stands once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from chartkit.schemas.compact import Schema, flattened, type_library
from chartkit.schemas.crds import OBJECT_FIELDS, Kind, kinds, specification

_OPEN_REPORTS = "openreports"
_HEAD = (
    "{{/* The types of the custom resource definitions, as OpenAPI schemas. Do not edit or "
    "override them: values are the interface. */}}\n"
)
_REFERENCE = re.compile(r'\{"\$ref":"(\w+)"\}')


def crd_templates() -> dict[str, str]:
    """The templates by their path in the chart."""
    files = {"templates/crds/_types.tpl": "".join(_types())}
    groups: dict[str, list[Kind]] = {}
    for kind in kinds():
        groups.setdefault(kind.group, []).append(kind)
    for group, members in groups.items():
        files[f"templates/crds/{group}.yaml"] = "".join(_definition(kind) for kind in members)
    return files


def group_values() -> dict[str, list[str]]:
    """The keys of `crds.groups` and of the groups in it."""
    groups: dict[str, list[str]] = {}
    for kind in kinds():
        if kind.key != _OPEN_REPORTS:
            groups.setdefault(kind.key, []).append(kind.plural)
    return groups


def _types() -> Iterator[str]:
    """A named template for each type that a definition needs, in alphabetical order."""
    types = type_library()
    roots = {version.type for kind in kinds() for version in kind.versions}
    flat = {name: flattened(types[name], types) for name in _needed(sorted(roots), types)}
    yield _HEAD
    for name, schema in sorted(flat.items()):
        if name in roots:
            schema = {**schema, "properties": {**OBJECT_FIELDS, **schema["properties"]}}
        yield f'{{{{- define "type.{name}" }}}}{_template_text(schema)}{{{{ end }}}}\n'


def _needed(names: list[str], types: Mapping[str, Schema]) -> list[str]:
    found: list[str] = []
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in found:
            found.append(name)
            queue += _REFERENCE.findall(_json(flattened(types[name], types)))
    return found


def _definition(kind: Kind) -> str:
    condition = f".Values.crds.install .Values.crds.groups.{kind.key}.{kind.plural}"
    if kind.key == _OPEN_REPORTS:
        condition = ".Values.crds.install .Values.openreports.installCrds"
    if kind.by_reports_server:
        condition += " (not .Values.crds.reportsServer.enabled)"
    spec = _template_text(specification(kind, lambda name: {"$ref": name}))
    return (
        f"{{{{- if and {condition} }}}}\n"
        "---\n"
        "apiVersion: apiextensions.k8s.io/v1\n"
        "kind: CustomResourceDefinition\n"
        f'{{{{ include "kyverno.crdMetadata" (list . "{kind.name}") }}}}\n'
        f"spec: {spec}\n"
        "{{- end }}\n"
    )


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _template_text(value: object) -> str:
    return _REFERENCE.sub(r'{{ template "type.\1" }}', _json(value))
