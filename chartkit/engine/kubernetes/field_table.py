"""The fields of Kubernetes' own kinds, as Kubernetes 1.37 has them.

The table `kinds.json` is made by `tools/kind_shapes.py`. A type's entry holds by type the names
of the fields that have it: `string`, `int`, `double`, `bool`, `dyn` for what is not known,
`quantity` and `int-or-string` for what is a text or a number, `[]T` for a list, `{}T` for a map
with keys of text, or the name of another type. A `!` behind a name marks a required field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version

LIST: Final = "[]"
MAP: Final = "{}"
_TABLE: Final = "kinds.json"
_REQUIRED: Final = "!"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a type; type: as the table writes it."""

    type: str
    required: bool


def type_of_kind(kind: GroupVersionKind) -> str | None:
    """Return the name of the type of one of Kubernetes' own kinds; None for any other."""
    name: str | None = kind_table()["kinds"].get("/".join(filter(None, kind)))
    return name


@cache
def fields_of(type_name: str) -> Mapping[str, Field]:
    """Return the fields of a type of the table by name; none for a type that it does not have."""
    entry: Mapping[str, str] = kind_table()["types"].get(type_name, {})
    return {
        name.removesuffix(_REQUIRED): Field(kind, name.endswith(_REQUIRED))
        for kind, names in entry.items()
        for name in names.split()
    }


@cache
def known_kinds() -> tuple[GroupVersionKind, ...]:
    """Every kind that has a shape, by group, version and name."""
    parts = (text.rpartition("/") for text in kind_table()["kinds"])
    return tuple(
        GroupVersionKind(*parse_api_version(api_version), kind) for api_version, _, kind in parts
    )


@cache
def kind_table() -> Mapping[str, Any]:
    """Return the table: `kinds` gives the type of a kind, `types` the fields of a type."""
    text = files(__package__).joinpath(_TABLE).read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
