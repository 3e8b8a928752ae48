"""The types that rules see a schema's values as.

Source: `SchemaDeclType` of k8s.io/apiserver/pkg/cel/common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from chartkit.engine.cel.declarations import StructType
from chartkit.engine.cel.library.kubernetes.admission import declared
from chartkit.engine.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    struct,
)
from chartkit.scan.custom_resources.schema import Schema

_SELF: Final = "selfType"
_KEYWORDS: Final = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    )
)
_ESCAPED: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPING: Final = re.compile(r"__|[-./]")
_NAME: Final = re.compile(r"[A-Za-z_./-][\w./-]*", re.ASCII)
_UNESCAPING: Final = re.compile(r"__(underscores|dot|dash|slash)__")
_CHARACTERS: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_SCALARS: Final = {"boolean": BOOL, "number": DOUBLE, "integer": INT}
_FORMATS: Final = {
    "byte": BYTES,
    "duration": DURATION,
    "date": TIMESTAMP,
    "date-time": TIMESTAMP,
}
_TEXT: Final = Schema(types=("string",))
_ROOT: Final = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": Schema(types=("object",), properties={"name": _TEXT, "generateName": _TEXT}),
}
"""The fields that rules see of every object that is whole, whatever its schema says."""


@dataclass(frozen=True, slots=True)
class SelfType:
    """The type of `self`, and all types that are reached from it."""

    type: Type
    structs: tuple[StructType, ...]


@lru_cache(maxsize=4096)
def self_type(schema: Schema, is_root: bool) -> SelfType | None:
    """Return the type of a schema's values; None for one whose values no rule can see.

    is_root: whether these are whole objects, custom or embedded ones.
    """
    structs: list[StructType] = []
    found = _type(schema, _SELF, is_root, structs)
    return None if found is None else SelfType(found, tuple(structs))


def _type(schema: Schema, name: str, is_root: bool, structs: list[StructType]) -> Type | None:
    if len(schema.types) > 1:
        return DYN
    kind = "".join(schema.types)
    if kind == "object":
        if isinstance(schema.additional, Schema):
            values = _type(schema.additional, f"{name}.@values", schema.additional.embeds, structs)
            return None if values is None else map_of(STRING, values)
        members = {**schema.properties, **(_ROOT if is_root else {})}
        fields: dict[str, Type] = {}
        for key, each in members.items():
            found = _type(each, f"{name}.{key}", each.embeds, structs)
            if found is not None and _NAME.fullmatch(key):
                fields |= dict.fromkeys(spellings(key), found)
        structs.append(declared(struct(name), fields))
        return struct(name)
    if kind == "array" and schema.items is not None:
        items = _type(schema.items, f"{name}.@items", schema.items.embeds, structs)
        return None if items is None else list_of(items)
    return _FORMATS.get(schema.format, STRING) if kind == "string" else _SCALARS.get(kind)


def escape(name: str) -> str:
    """Return a field's name as rules in CEL write it."""
    if name in _KEYWORDS:
        return f"__{name}__"
    return _ESCAPING.sub(lambda match: _ESCAPED[match[0]], name)


def spellings(name: str) -> tuple[str, ...]:
    """Return a field's name in each way that rules may write it: keywords as they are, too."""
    return (escape(name), name) if name in _KEYWORDS else (escape(name),)


def unescaped(steps: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of fields that rules write so."""
    for step in steps:
        inner = step[2:-2]
        if step.startswith("__") and step.endswith("__") and inner in _KEYWORDS:
            yield inner
        else:
            yield _UNESCAPING.sub(lambda match: _CHARACTERS[match[1]], step)
