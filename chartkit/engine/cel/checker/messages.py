"""Types whose values can be written with their fields: `google.protobuf.Int64Value{value: 1}`."""

from __future__ import annotations

from chartkit.engine.cel.types import DYN, STRING, Type, TypeKind

_NAMES = {
    TypeKind.ANY: "google.protobuf.Any",
    TypeKind.DURATION: "google.protobuf.Duration",
    TypeKind.DYN: "google.protobuf.Value",
    TypeKind.NULL: "google.protobuf.NullValue",
    TypeKind.TIMESTAMP: "google.protobuf.Timestamp",
}
_WRAPPERS = {
    TypeKind.BOOL: "google.protobuf.BoolValue",
    TypeKind.BYTES: "google.protobuf.BytesValue",
    TypeKind.DOUBLE: "google.protobuf.DoubleValue",
    TypeKind.INT: "google.protobuf.Int64Value",
    TypeKind.STRING: "google.protobuf.StringValue",
    TypeKind.UINT: "google.protobuf.UInt64Value",
}


def message_name(value: Type) -> str | None:
    """The name under which the fields of a type are declared; None where it has none.

    Protobuf's types that are values of CEL's own have the name of the widest: an `Int32Value`
    takes what an `Int64Value` takes.
    """
    if value.kind is TypeKind.STRUCT:
        return value.name
    if value.kind is TypeKind.WRAPPER:
        return _WRAPPERS[value.parameters[0].kind]
    if value.kind is TypeKind.LIST and value.parameters == (DYN,):
        return "google.protobuf.ListValue"
    if value.kind is TypeKind.MAP and value.parameters == (STRING, DYN):
        return "google.protobuf.Struct"
    return _NAMES.get(value.kind)
