"""A checked expression, the meaning of its names, and the complaints that tools want to know more
about than their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel.ast import Call, Expr, Ident, Parsed, Select
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, CelError, Issue
from chartkit.engine.cel.types import DYN, STRING, Type, TypeKind
from chartkit.engine.cel.values import Value


@dataclass(frozen=True, slots=True)
class Checked:
    """An expression whose types are known; every mapping has node ids as its keys.

    types: of every node that has a value (not of the field literal of `a.?b`). overloads: of a
    call, the ids of the overloads that may be meant, in the order of their declaration. names: of
    an `Ident` or `Select`, the variable that it is as a whole (`a.b` may be one; then the parts
    have no types); a leading dot says that a variable of a comprehension is not meant. Of a
    `StructLiteral`, its type's name. Of a call, the function's name where it is not the node's:
    `math.abs` with the target being part of the name and no argument, or `size` for `.size`.
    """

    parsed: Parsed
    types: Mapping[int, Type]
    overloads: Mapping[int, tuple[str, ...]]
    names: Mapping[int, str]

    @property
    def source(self) -> str:
        """The expression as it was written."""
        return self.parsed.source

    @property
    def root(self) -> Expr:
        """The outermost node."""
        return self.parsed.root

    @property
    def output_type(self) -> Type:
        """The type of the expression's value; `dyn` where only the evaluation shows it."""
        return self.types[self.parsed.root.id]


@dataclass(frozen=True, slots=True)
class UndefinedField(Issue):
    """A field that its type does not have.

    struct: the type's name; field: its name; suggestion: the field that was perhaps
    meant, None where no name is near.
    """

    struct: str = ""
    field: str = ""
    suggestion: str | None = None


class OutputTypeError(CelCompileError):
    """An expression does not have the type that its context requires.

    The message is Kubernetes'; callers with another wording have `expected` and `actual`.
    """

    def __init__(self, source: str, expected: Sequence[Type], actual: Type) -> None:
        self.expected = tuple(expected)
        self.actual = actual
        wanted = str(expected[0])
        if len(expected) > 1:
            wanted = f"one of [{' '.join(map(str, expected))}]"
        super().__init__(source, [Issue(f"must evaluate to {wanted} but got {actual}")])


NO_CONSTANT: Final = object()


def variable_name(checked: Checked, expr: Expr) -> str | None:
    """The variable that a node is as a whole; None where it is not one. A leading dot stays."""
    name = checked.names.get(expr.id)
    if name is not None and expr.__class__ in (Ident, Select):
        return name
    return expr.name if expr.__class__ is Ident else None


def constant_named(checked: Checked, environment: Environment, expr: Expr) -> Value:
    """The constant of a name: a type or a library's value; else `NO_CONSTANT`.

    Raises `CelError` for a name whose value is a type, but which the environment does not know as
    one: cel-go makes no program of it, even where it is a macro's own variable.
    """
    name = variable_name(checked, expr)
    if name is None:
        return NO_CONSTANT
    declared = environment.variables.get(name.removeprefix("."))
    type_ = checked.types.get(expr.id)
    if declared is not None:
        # A comprehension's variable may have the same name; its type then differs.
        if declared.type != type_:
            return NO_CONSTANT
        if declared.has_value:
            return declared.value
    if type_ is not None and type_.kind is TypeKind.TYPE:
        raise CelError(f"reference to undefined type: {name}")
    return NO_CONSTANT


def function_and_arguments(checked: Checked, call: Call) -> tuple[str, tuple[Expr, ...]]:
    """The function's name and its arguments, the target first if it is one."""
    name = checked.names.get(call.id)
    if call.target is None:
        return name or call.function, call.args
    if name is not None:
        return name, call.args
    return call.function, (call.target, *call.args)


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
