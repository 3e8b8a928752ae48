"""The fields of Kubernetes' own kinds as CEL types.

The table `kinds.json` is made by `tools/kind_shapes.py`. A type's entry holds by type the names
of the fields that have it: `string`, `int`, `double`, `bool`, `dyn` for what is not known,
`quantity` and `int-or-string` for what is a text or a number, `[]T` for a list, `{}T` for a map
with keys of text, or the name of another type. A `!` behind a name marks a required field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from chartkit.engine.cel.declarations import StructType
from chartkit.engine.cel.library.kubernetes.admission import declared
from chartkit.engine.cel.types import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    STRING,
    Type,
    TypeKind,
    list_of,
    map_of,
    struct,
)
from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version

_TABLE: Final = "kinds.json"
_LIST: Final = "[]"
_MAP: Final = "{}"
_REQUIRED: Final = "!"
_SCALARS: Final = {str(each): each for each in (BOOL, DOUBLE, DYN, INT, STRING)} | {
    "quantity": DYN,
    "int-or-string": DYN,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind's type and every type that is reached from it."""

    type: Type
    structs: tuple[StructType, ...]


@cache
def shape_of(kind: GroupVersionKind) -> Shape | None:
    """The shape of one of Kubernetes' own kinds; None for any other."""
    name = _table()["kinds"].get("/".join(filter(None, kind)))
    if name is None:
        return None
    found: dict[str, StructType] = {}
    waiting = [name]
    while waiting:
        below = waiting.pop()
        if below not in found:
            found[below] = _struct(below)
            waiting += _structs_of((found[below].fields or {}).values())
    return Shape(struct(name), tuple(found.values()))


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a type; type: as the table writes it."""

    type: str
    required: bool


def type_of_kind(kind: GroupVersionKind) -> str | None:
    """Return the name of the type of one of Kubernetes' own kinds; None for any other."""
    name: str | None = _table()["kinds"].get("/".join(filter(None, kind)))
    return name


@cache
def fields_of(type_name: str) -> Mapping[str, Field]:
    """Return the fields of a type of the table by name; none for a type that it does not have."""
    entry: Mapping[str, str] = _table()["types"].get(type_name, {})
    return {
        name.removesuffix(_REQUIRED): Field(kind, name.endswith(_REQUIRED))
        for kind, names in entry.items()
        for name in names.split()
    }


@cache
def known_kinds() -> tuple[GroupVersionKind, ...]:
    """Every kind that has a shape, by group, version and name."""
    parts = (text.rpartition("/") for text in _table()["kinds"])
    return tuple(
        GroupVersionKind(*parse_api_version(api_version), kind) for api_version, _, kind in parts
    )


@cache
def _table() -> Mapping[str, Any]:
    text = files(__package__).joinpath(_TABLE).read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


@cache
def _struct(name: str) -> StructType:
    entry: Mapping[str, str] = _table()["types"][name]
    fields = {
        field.removesuffix(_REQUIRED): _type(kind)
        for kind, names in entry.items()
        for field in names.split()
    }
    return declared(struct(name), fields)


def _type(text: str) -> Type:
    if text.startswith(_LIST):
        return list_of(_type(text.removeprefix(_LIST)))
    if text.startswith(_MAP):
        return map_of(STRING, _type(text.removeprefix(_MAP)))
    return _SCALARS.get(text) or struct(text)


def _structs_of(types: Iterable[Type]) -> list[str]:
    names = []
    for each in types:
        inner = each
        while inner.parameters:
            inner = inner.parameters[-1]
        if inner.kind is TypeKind.STRUCT:
            names.append(inner.name)
    return names
