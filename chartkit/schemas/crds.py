"""Custom resource definitions, made from the compact schemas of the kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chartkit.documents.reader import read_file
from chartkit.model import Body
from chartkit.schemas.compact import Schema, resolved, type_library

_INDEX = Path(__file__).parent / "crds.yaml"

OBJECT_FIELDS: Schema = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}
"""Fields that every Kubernetes object has in addition to its own."""


@dataclass(frozen=True, slots=True)
class KindVersion:
    """One version of a kind: the type it has, and what a definition says of it besides."""

    name: str
    type: str
    entry: Body


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of custom resource.

    group: its API group, key: the group's name in the chart's values `crds.groups`;
    by_reports_server: whether a reports server serves it, so that no definition is needed then.
    """

    kind: str
    group: str
    key: str
    plural: str
    short: str
    category: str
    scope: str
    by_reports_server: bool
    versions: tuple[KindVersion, ...]

    @property
    def name(self) -> str:
        """The definition's name: plural and group."""
        return f"{self.plural}.{self.group}"


@cache
def kinds() -> tuple[Kind, ...]:
    """Every kind that has a definition, group by group."""
    index: Body = read_file(_INDEX)[0].body
    columns: dict[str, list[Body]] = {}
    for name, rows in index["columns"].items():
        columns[name] = []
        for title, text in rows.items():
            type_name, path = text.removeprefix("wide ").split(" ", 1)
            column = {"name": title, "type": type_name, "jsonPath": path}
            columns[name].append({**column, "priority": 1} if text.startswith("wide ") else column)
    defined: list[Kind] = []
    for group in index["groups"]:
        for name, entry in group["kinds"].items():
            shown, selectable = entry.get("versionColumns", {}), entry.get("selectable", "")
            versions: list[KindVersion] = []
            for version, text in entry["versions"].items():
                words = text.split()
                body: Body = {
                    "name": version,
                    "served": "unserved" not in words,
                    "storage": "stored" in words,
                    "schema": {},
                }
                if "deprecated" in words:
                    body["deprecated"] = True
                own = columns.get(shown.get(version, entry.get("columns", "")))
                if own:
                    body["additionalPrinterColumns"] = own
                if selectable:
                    body["selectableFields"] = [{"jsonPath": selectable}]
                versions.append(KindVersion(version, words[0], body))
            kind = Kind(
                kind=name,
                group=group["group"],
                key=group["key"],
                plural=entry["plural"],
                short=entry.get("short", ""),
                category=str(entry.get("category", group.get("category", ""))),
                scope=entry["scope"],
                by_reports_server="served" in group,
                versions=tuple(versions),
            )
            defined.append(kind)
    return tuple(defined)


@cache
def later_fields() -> Mapping[str, Mapping[tuple[str, ...], str]]:
    """Return fields that came with a later Kyverno than the oldest of the engine's chart.

    By the name of the type and the field's path in it, with the version; a list is written as its
    items.
    """
    since: dict[str, dict[tuple[str, ...], str]] = {}
    for version, types in read_file(_INDEX)[0].body["since"].items():
        for name, fields in types.items():
            paths = {tuple(field.split(".")): version for field in fields}
            since.setdefault(name, {}).update(paths)
    return since


def definition(kind: Kind) -> Body:
    """The CustomResourceDefinition of a kind, without labels, its schemas written out."""
    types = type_library()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.name},
        "spec": specification(kind, lambda name: root_schema(types[name], types)),
    }


def specification(kind: Kind, schema_of: Callable[[str], Schema]) -> Body:
    """The definition's spec; schema_of gives the schema of a type by its name."""
    names: Body = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
    }
    if kind.category:
        names["categories"] = [kind.category]
    if kind.short:
        names["shortNames"] = [kind.short]
    return {
        "group": kind.group,
        "names": names,
        "scope": kind.scope,
        "versions": [
            {**version.entry, "schema": {"openAPIV3Schema": schema_of(version.type)}}
            | (
                {"subresources": {"status": {}}}
                if "status" in type_library()[version.type]["properties"]
                else {}
            )
            for version in kind.versions
        ],
    }


def root_schema(schema: Schema, types: Mapping[str, Schema]) -> Schema:
    """A kind's whole schema: its type, and what every Kubernetes object has."""
    whole = resolved(schema, types)
    own = whole.get("properties", {})
    return {**whole, "properties": {**OBJECT_FIELDS, **own}}
