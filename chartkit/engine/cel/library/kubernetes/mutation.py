"""The types that mutations are written with: `Object{…}` and `JSONPatch{…}`; keys in paths.

`Object` and every name below it (`Object.spec.template`) take any field; that a name fits its
place in the object is judged when the mutation is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.declarations import Library, StructType, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import of_first
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import DYN, STRING, struct
from chartkit.engine.cel.values import Struct, Uint, Value

OBJECT: Final = struct("Object")
JSON_PATCH: Final = struct("JSONPatch")

_GO_TYPES: Final[Mapping[type, str]] = {
    type(None): "structpb.NullValue",
    bool: "bool",
    int: "int64",
    Uint: "uint64",
    float: "float64",
    bytes: "[]uint8",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    Timestamp: "time.Time",
    Duration: "time.Duration",
}
"""Go's names for the values of a document, for messages."""


def _patch(fields: Mapping[str, Value]) -> Value:
    for name in ("op", "path", "from"):
        if name in fields and not isinstance(fields[name], str):
            shown = _GO_TYPES.get(fields[name].__class__, "interface {}")
            raise CelError(f"unexpected type {shown} for JSONPatchType '{name}' field")
    return Struct(JSON_PATCH, fields, _UNSET)


_UNSET: Final = MappingProxyType({"op": "", "path": "", "from": "", "value": None})


LIBRARY: Final = Library(
    "kubernetes.mutation",
    structs=(
        StructType(OBJECT.name, None, partial(Struct, OBJECT)),
        StructType(
            JSON_PATCH.name,
            MappingProxyType({"op": STRING, "path": STRING, "from": STRING, "value": DYN}),
            _patch,
        ),
    ),
)


_escape_key = overload(
    "string_jsonpatch_escapeKey_string: jsonpatch.escapeKey(string) -> string", cost=of_first
)(lambda key: key.replace("~", "~0").replace("/", "~1"))

JSON_PATCH_LIBRARY: Final = Library("kubernetes.jsonpatch", overloads=(_escape_key,))
