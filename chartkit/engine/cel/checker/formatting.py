"""Types in complaints: shorter than `str(type)`, which gives the names of the runtime."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cel.types import Type, TypeKind

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
