"""The types as values: `int`, `list`, `google.protobuf.Timestamp` …"""

from __future__ import annotations

from collections.abc import Mapping

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Variable
from chartkit.engine.cel.types import Type, TypeKind

LIST = Type(TypeKind.LIST, "list")
MAP = Type(TypeKind.MAP, "map")
EMPTY = types.struct("google.protobuf.Empty")


def type_constant(value: Type, declared: Type | None = None) -> Variable:
    """A name that stands for a type; declared: the type with its parameters, for the checker."""
    return Variable(types.type_of_type(declared or value), value, has_value=True)


_PLAIN = (
    types.BOOL,
    types.BYTES,
    types.DOUBLE,
    types.DURATION,
    types.INT,
    types.NULL,
    types.STRING,
    types.TIMESTAMP,
    types.TYPE,
    types.UINT,
    EMPTY,
)

VARIABLES: Mapping[str, Variable] = {
    **{each.name: type_constant(each) for each in _PLAIN},
    "list": type_constant(LIST, types.LIST_DYN),
    "map": type_constant(MAP, types.MAP_DYN),
    **{
        name: Variable(types.type_of_type(each))
        for name, each in (("duration", types.DURATION), ("timestamp", types.TIMESTAMP))
    },
    "google.protobuf.NullValue.NULL_VALUE": Variable(types.INT, 0, has_value=True),
}
"""`duration` and `timestamp` have no value: for the checker they are names of types, but cel-go
makes no program of an expression that has them."""
