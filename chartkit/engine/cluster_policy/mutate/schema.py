"""The lists that a strategic merge joins, and their keys: Kubernetes' rules for its own kinds.

The table `merge_keys.json` is made by `tools/merge_keys.py` from the OpenAPI definitions that
kustomize has built in; kinds that it does not know have no such lists. A field's entry is the
name of its type, `{"values": type}` for a map, or for a list that is joined its elements' type and
its merge keys (none: a list of scalars). An empty name is a type with no such list below it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from chartkit.model import Json

_TABLE: Final = "merge_keys.json"


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of one place in an object.

    type: the name of its type in the table, or of the elements where it is a list; keys: the
    merge keys of a list that is joined, None for all else; is_map: whether every field is of the
    same type.
    """

    type: str
    keys: tuple[str, ...] | None = None
    is_map: bool = False

    def field(self, name: str) -> Schema | None:
        """Return the schema of a field of this object."""
        if self.keys is not None:
            return None
        if self.is_map:
            return _of_type(self.type)
        return _fields(self.type).get(name)

    def elements(self) -> Schema | None:
        """Return the schema of each element of this list."""
        return None if self.keys is None else _of_type(self.type)


def schema_of_kind(api_version: str, kind: str) -> Schema | None:
    """Return the schema of a kind; None for a kind that is not Kubernetes' own."""
    name = _table()["kinds"].get(f"{api_version}/{kind}")
    return None if name is None else Schema(name)


@cache
def _of_type(name: str) -> Schema:
    return Schema(name)


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(files(__package__).joinpath(_TABLE).read_text("utf-8"))
    return table


@cache
def _fields(type_name: str) -> dict[str, Schema]:
    fields = _table()["types"].get(type_name, {})
    return {name: _schema(entry) for name, entry in fields.items()}


def _schema(entry: Json) -> Schema:
    if isinstance(entry, list):
        return Schema(entry[0], tuple(entry[1:]))
    if isinstance(entry, dict):
        return Schema(entry["values"], is_map=True)
    return Schema(entry)
