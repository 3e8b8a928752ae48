"""The types of `request` and `namespaceObject`, as admission policies see them.

At run time both are plain maps; the types say which fields an expression may name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Library, StructType
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.notation import named, parse_type
from chartkit.engine.cel.values import Value

REQUEST: Final = types.struct("kubernetes.AdmissionRequest")
NAMESPACE: Final = types.struct("kubernetes.Namespace")

_TYPES: Final[Mapping[str, Mapping[str, str]]] = json.loads(
    Path(__file__).with_name("admission_types.json").read_text("utf-8")
)
"""The types of fields by the name of a type."""


def declared(kind: types.Type, fields: Mapping[str, types.Type]) -> StructType:
    """A type that checks field names; a literal of it compiles, but has no value."""
    return StructType(kind.name, MappingProxyType(dict(fields)), _refusing(kind.name))


def _refusing(name: str) -> Callable[[Mapping[str, Value]], Value]:
    def construct(_fields: Mapping[str, Value]) -> Value:
        raise CelError(f"unknown type '{name}'")

    return construct


def _library(name: str, **more: types.Type) -> Library:
    for kind in _TYPES:
        named(types.struct(kind))
    own = {
        kind: {key: parse_type(fields[key]) for key in fields} for kind, fields in _TYPES.items()
    }
    own[REQUEST.name].update(more)
    return Library(name, structs=tuple(declared(types.struct(kind), own[kind]) for kind in own))


LIBRARY: Final = _library("kubernetes.admission")
WITH_OBJECTS_LIBRARY: Final = _library("kyverno.admission", object=types.DYN, oldObject=types.DYN)
