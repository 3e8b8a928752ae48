"""Names of types: in complaints, and of those whose values can be written with their fields."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cel.types import DYN, STRING, Type, TypeKind

_SHORT = {
    TypeKind.ANY: "any",
    TypeKind.DURATION: "duration",
    TypeKind.ERROR: "!error!",
    TypeKind.NULL: "null",
    TypeKind.TIMESTAMP: "timestamp",
}


def format_type(value: Type) -> str:
    """The type as the checker's messages have it: `timestamp`, `null`, `list(int)`."""
    short = _SHORT.get(value.kind)
    if short is not None:
        return short
    if not value.parameters:
        return value.name
    return f"{value.name}({', '.join(map(format_type, value.parameters))})"


def format_call(arguments: Sequence[Type], member: bool) -> str:
    """The types that a function was called with: `(int, string)`, `string.(int)` of a member."""
    receiver = ""
    if member:
        receiver, arguments = f"{format_type(arguments[0])}.", arguments[1:]
    return f"{receiver}({', '.join(map(format_type, arguments))})"


def type_name(value: Type) -> str:
    """The name of the type without its parameters, as values of it carry it at run time."""
    return value.parameters[0].name if value.kind is TypeKind.WRAPPER else value.name


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
