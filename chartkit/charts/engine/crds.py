"""The engine chart's custom resource definitions: a named template a type, so each stands once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from chartkit.kyverno.versions import parse_version
from chartkit.model import Json
from chartkit.schemas.compact import Schema, flattened, type_library
from chartkit.schemas.crds import OBJECT_FIELDS, Kind, kinds, later_fields, specification

_OPEN_REPORTS = "openreports"
_HEAD = (
    "{{/* The types of the custom resource definitions, as OpenAPI schemas. Do not edit or "
    "override them: values are the interface. */}}\n"
)
_REFERENCE = re.compile(r'\{"\$ref":"(\w+)"\}')
_SINCE = "$since"
_NUMBER = '{{- $kyverno := include "kyverno.number" . | int }}\n'


def crd_templates() -> dict[str, str]:
    """The templates by their path in the chart."""
    files = {"templates/crds/_types.tpl": "".join(_types())}
    groups: dict[str, list[Kind]] = {}
    for kind in kinds():
        groups.setdefault(kind.group, []).append(kind)
    for group, members in groups.items():
        text = "".join(_definition(kind) for kind in members)
        files[f"templates/crds/{group}.yaml"] = _NUMBER + text
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
    names = sorted(roots)
    found: list[str] = []
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in found:
            found.append(name)
            queue += _REFERENCE.findall(_json(flattened(types[name], types)))
    flat = {name: flattened(types[name], types) for name in found}
    yield _HEAD
    for name, schema in sorted(flat.items()):
        if name in roots:
            schema = {**schema, "properties": {**OBJECT_FIELDS, **schema["properties"]}}
        for path, version in later_fields().get(name, {}).items():
            schema = _marked(schema, path, parse_version(version, "Kyverno").number)
        yield f'{{{{- define "type.{name}" }}}}{_template_text(schema)}{{{{ end }}}}\n'


def _definition(kind: Kind) -> str:
    condition = f".Values.crds.install .Values.crds.groups.{kind.key}.{kind.plural}"
    if kind.key == _OPEN_REPORTS:
        condition = ".Values.crds.install .Values.openreports.installCrds"
    if kind.by_reports_server:
        condition += " (not .Values.crds.reportsServer.enabled)"
    spec = _template_text(specification(kind, lambda name: {"$ref": name}), "$kyverno")
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


def _marked(schema: Schema, path: Sequence[str], number: int) -> Schema:
    """Return a schema whose field at a path has the number of the Kyverno that brings it."""
    if "items" in schema:
        return {**schema, "items": _marked(schema["items"], path, number)}
    name, *rest = path
    field = schema["properties"][name]
    marked = _marked(field, rest, number) if rest else {**field, _SINCE: number}
    return {**schema, "properties": {**schema["properties"], name: marked}}


def _template_text(value: Json, context: str = ".") -> str:
    """Return a schema as JSON, with a template for each type that it refers to, and fields that
    need a later Kyverno under a condition; context: the variable with Kyverno's number."""
    if isinstance(value, list):
        return f"[{','.join(_template_text(each, context) for each in value)}]"
    if not isinstance(value, dict):
        return _json(value)
    if set(value) == {"$ref"}:
        return f'{{{{ template "type.{value["$ref"]}" {context} }}}}'
    late = {key: each for key, each in value.items() if isinstance(each, dict) and _SINCE in each}
    text = ""
    for key, each in late.items():
        field = {name: part for name, part in each.items() if name != _SINCE}
        member = f"{_json(key)}:{_template_text(field, context)}"
        text += f" {{{{ if ge {context} {each[_SINCE]} }}}}{member},{{{{ end }}}}"
    members = (
        f"{_json(key)}:{_template_text(each, context)}"
        for key, each in value.items()
        if key not in late
    )
    return f"{{{text}{','.join(members)}}}"
