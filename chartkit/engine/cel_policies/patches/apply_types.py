"""The merge of the fields of Kubernetes' own kinds by a server-side apply.

The table `apply_types.json` is made by `tools/apply_types.py` from the OpenAPI documents of an API
server. A place in it is a letter for a scalar (`s` string, `n` number, `b` boolean, `u` any), `d`
for what has no schema, `@` with the name of a type, a list (`["map", keys, elements]`,
`["set", elements]`, `["atomic", elements]`), a map (`["values", place]`, with `!` one that is
merged as a whole; `["!", place]` for an object that is) or an object's fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from chartkit.model import Json

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
    """Return the sorts allowed at a place."""
    if isinstance(place, str):
        return _named(place[1:]) if place.startswith("@") else _SORTS[place]
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
