"""Fields of an object with the wrong type, so that no API server accepts it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from chartkit.engine.cel.declarations import StructType
from chartkit.engine.cel.shapes.table import shape_of
from chartkit.engine.cel.types import BOOL, DOUBLE, INT, STRING, Type, TypeKind
from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version
from chartkit.model import Body, Json

_NAMES: Final = {
    BOOL: "a boolean",
    DOUBLE: "a number",
    INT: "an integer",
    STRING: "a string",
}


def type_faults(body: Body) -> Iterator[str]:
    """Return the faults of the fields of one of Kubernetes' own kinds: `path: is …, must be …`.

    Nothing for other kinds, for fields that the kind has not and for null, which is taken anywhere.
    """
    kind = GroupVersionKind(*parse_api_version(str(body.get("apiVersion"))), str(body.get("kind")))
    shape = shape_of(kind)
    if shape is not None:
        yield from _faults(body, shape.type, _structs(kind), "")


@cache
def _structs(kind: GroupVersionKind) -> dict[str, StructType]:
    shape = shape_of(kind)
    return {} if shape is None else {each.name: each for each in shape.structs}


def _faults(value: Json, wanted: Type, known: dict[str, StructType], path: str) -> Iterator[str]:
    if value is None or wanted.kind is TypeKind.DYN:
        return
    if wanted.kind is TypeKind.LIST:
        yield from _of_list(value, wanted, known, path)
    elif wanted.kind is TypeKind.MAP:
        yield from _of_map(value, wanted, known, path)
    elif wanted.kind is TypeKind.STRUCT:
        yield from _of_struct(value, wanted, known, path)
    elif not _fits(value, wanted):
        yield f"{path}: is {_named(value)}, must be {_NAMES.get(wanted, wanted.name)}"


def _of_list(value: Json, wanted: Type, known: dict[str, StructType], path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: is {_named(value)}, must be a list"
        return
    for index, member in enumerate(value):
        yield from _faults(member, wanted.parameters[0], known, f"{path}[{index}]")


def _of_map(value: Json, wanted: Type, known: dict[str, StructType], path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: is {_named(value)}, must be an object"
        return
    for key, member in value.items():
        yield from _faults(member, wanted.parameters[-1], known, f"{path}[{key}]")


def _of_struct(value: Json, wanted: Type, known: dict[str, StructType], path: str) -> Iterator[str]:
    fields = known[wanted.name].fields if wanted.name in known else None
    if fields is None:
        return
    if not isinstance(value, dict):
        yield f"{path}: is {_named(value)}, must be an object"
        return
    for name, member in value.items():
        field = fields.get(name)
        if field is not None:
            yield from _faults(member, field, known, f"{path}.{name}" if path else name)


def _fits(value: Json, wanted: Type) -> bool:
    if wanted == STRING:
        return isinstance(value, str)
    if wanted == BOOL:
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return wanted not in (INT, DOUBLE)
    return wanted != INT or float(value).is_integer()


def _named(value: Json) -> str:
    """The type of a value, and not the value: it may be a Secret's."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    return "a number" if float(value).is_integer() else "a number with a fraction"
