"""The fields of Kubernetes' own kinds as CEL types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

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
from chartkit.engine.kubernetes.field_faults import LIST, MAP, fields_of, type_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind

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
    name = type_of_kind(kind)
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


@cache
def _struct(name: str) -> StructType:
    fields = {field: _type(each.type) for field, each in fields_of(name).items()}
    return declared(struct(name), fields)


def _type(text: str) -> Type:
    if text.startswith(LIST):
        return list_of(_type(text.removeprefix(LIST)))
    if text.startswith(MAP):
        return map_of(STRING, _type(text.removeprefix(MAP)))
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
