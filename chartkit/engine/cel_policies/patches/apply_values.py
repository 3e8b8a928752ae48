"""CEL values as the JSON of objects: whole numbers stay whole.

What Kubernetes has no JSON for in an `Object{…}`, null among it, is handed on as a `Native`, which
no schema accepts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from importlib.resources import files
from operator import is_
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from chartkit.engine.cel.library.printing import text_of
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import OptionalValue, Struct, Uint, Value, type_of
from chartkit.go.fmt import go_json, go_sprint
from chartkit.go.strconv import mark_literals
from chartkit.model import Json


@dataclass(frozen=True, slots=True)
class Native:
    """A value that objects cannot hold: Go's name of its type, and its text by `%v` and `%#v`."""

    go_type: str
    text: str
    syntax: str


NIL_LIST: Final[list[Json]] = []
"""An empty list of an `Object{…}`, recognised by its identity: Go has a nil slice there, a list
like any other except in JSON, which writes it as null."""

NULL: Final = Native("structpb.NullValue", "NULL_VALUE", "0")
_GO_TYPES: Final = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def plain(value: Value) -> Json:
    """A value as an object holds it; raises `CelError` for a map whose keys are not strings."""
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, list):
        return [plain(member) for member in value] if value else NIL_LIST
    if isinstance(value, dict):
        return {text_of(key): plain(member) for key, member in value.items()}
    if isinstance(value, Struct):
        return {
            name: NULL if member is None else plain(member) for name, member in value.fields.items()
        }
    if isinstance(value, OptionalValue):
        return plain(value.value) if value.present else None
    if isinstance(value, Type):
        return value.name
    if isinstance(value, Uint):
        return Native("uint64", str(int(value)), hex(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, bytes):
        numbers = ", ".join(map(hex, value))
        return Native("[]uint8", f"[{' '.join(map(str, value))}]", f"[]uint8{{{numbers}}}")
    if isinstance(value, Timestamp):
        text = str(value)
        return Native("time.Time", text, text)
    if isinstance(value, Duration):
        return Native("time.Duration", str(value), str(value.nanoseconds))
    name = type_of(value).name
    return Native(name, str(value), f"({name})({value})")


def encoded(value: Json) -> Json:
    """The value as JSON has it once Go has written it; the same object where nothing differs."""
    if value is NIL_LIST:
        return None
    if isinstance(value, dict):
        changed = {
            key: made
            for key, member in value.items()
            if member.__class__ is not str and (made := encoded(member)) is not member
        }
        return {**value, **changed} if changed else value
    if isinstance(value, list):
        elements = list(map(encoded, value))
        return value if all(map(is_, elements, value)) else elements
    return value


def go_type(value: Json) -> str:
    """Go's name of a value's type: `%T`."""
    if isinstance(value, Native):
        return value.go_type
    return _GO_TYPES.get(value.__class__, "<nil>")


def go_text(value: Json) -> str:
    """Go's text of a value: `%v`."""
    if isinstance(value, Native):
        return value.text
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    return go_sprint(mark_literals([value]))[1:-1]


def go_syntax(value: Json) -> str:
    """Go's text of a value as it would be written in a program: `%#v`."""
    if isinstance(value, Native):
        return value.syntax
    if isinstance(value, dict):
        members = (f"{go_json(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"{go_type(value)}{{{', '.join(members)}}}"
    if isinstance(value, list):
        return f"{go_type(value)}{{{', '.join(map(go_syntax, value))}}}"
    return "interface {}(nil)" if value is None else go_json(value)


_TABLE: Final = "apply_types.json"

Place: TypeAlias = Any
"""A place of the table, which `resolve` turns into a `Sort`."""


class Scalar(Enum):
    """The type of a single value."""

    STRING = auto()
    NUMBER = auto()
    BOOLEAN = auto()
    ANY = auto()


@dataclass(frozen=True, slots=True)
class ListSort:
    """A list; keys: the fields that tell its elements apart, none for a set, None for a list that
    is merged as a whole."""

    elements: Place
    keys: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class MapSort:
    """An object or map: what its declared fields are, and what every other is (None: refused).

    atomic: it is merged as a whole; defaults: of fields that are keys of a list.
    """

    fields: Mapping[str, Place] = field(default_factory=dict)
    others: Place | None = None
    atomic: bool = False
    defaults: Mapping[str, Json] = field(default_factory=dict)

    def place(self, name: str) -> Place | None:
        """Return the place of a field; None for a field that does not exist."""
        return self.fields.get(name, self.others)


@dataclass(frozen=True, slots=True)
class Sort:
    """The sorts allowed at a place: those that are not None."""

    scalar: Scalar | None = None
    list: ListSort | None = None
    map: MapSort | None = None


_UNKNOWN: Final = "d"
_INSIDE_LISTS: Final = "*"
"""The sort inside lists without a schema: merged as a whole."""

_SORTS: Final = {
    "s": Sort(Scalar.STRING),
    "n": Sort(Scalar.NUMBER),
    "b": Sort(Scalar.BOOLEAN),
    "u": Sort(Scalar.ANY),
    _UNKNOWN: Sort(Scalar.ANY, ListSort(_INSIDE_LISTS, None), MapSort(others=_UNKNOWN)),
    _INSIDE_LISTS: Sort(
        Scalar.ANY, ListSort(_INSIDE_LISTS, None), MapSort(others=_INSIDE_LISTS, atomic=True)
    ),
}


def place_of_kind(api_version: str, kind: str) -> Place:
    """The place of a whole object; for a kind that is not Kubernetes' own, one without schema."""
    name = _table()["kinds"].get(f"{api_version}/{kind}")
    return _UNKNOWN if name is None else f"@{name}"


def resolve(place: Place) -> Sort:
    if isinstance(place, str):
        return _named(place[1:]) if place.startswith("@") else _SORTS[place]
    # Places with a sort are kept: no other one gets the identity of these.
    kept = _RESOLVED.get(id(place))
    if kept is None:
        kept = _RESOLVED[id(place)] = place, _resolved(place)
    return kept[1]


_RESOLVED: Final[dict[int, tuple[Place, Sort]]] = {}


def _resolved(place: Place) -> Sort:
    if isinstance(place, dict):
        others = _UNKNOWN if place.get("open") else None
        defaults = MappingProxyType(place.get("defaults", {}))
        return Sort(map=MapSort(place["fields"], others, "atomic" in place, defaults))
    form, *rest = place
    if form == "!":
        inner = resolve(rest[0]).map or MapSort()
        return Sort(map=MapSort(inner.fields, inner.others, True, inner.defaults))
    if form in ("values", "values!"):
        return Sort(map=MapSort(others=rest[0], atomic=form == "values!"))
    keys = {"map": tuple(rest[0]) if form == "map" else None, "set": (), "atomic": None}[form]
    return Sort(list=ListSort(rest[-1], keys))


@cache
def _named(name: str) -> Sort:
    return resolve(_table()["types"][name])


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(files(__package__).joinpath(_TABLE).read_text("utf-8"))
    return table
