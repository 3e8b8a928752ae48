"""Protobuf's well-known types as literals: `google.protobuf.Int64Value{value: 1}`.

Their values are plain ones: a wrapper its number or text, `Struct`, `Value` and `ListValue` what
they hold as JSON, so that numbers in them are doubles.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import StructType, Variable, type_constants
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.printing import content, json_of, no_conversion, text_of
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type, TypeKind
from chartkit.engine.cel.values import (
    INT_MAX,
    INT_MIN,
    INT_OVERFLOW,
    SCALARS,
    UINT_OVERFLOW,
    Opaque,
    OptionalValue,
    Struct,
    Uint,
    Value,
    type_of,
)
from chartkit.go.duration import SECOND

LIST = Type(TypeKind.LIST, "list")
MAP = Type(TypeKind.MAP, "map")
EMPTY = types.struct("google.protobuf.Empty")


def type_constant(value: Type, declared: Type | None = None) -> Variable:
    """The variable of a type's name; declared: the type with its parameters, for the checker."""
    return Variable(types.type_of_type(declared or value), value, has_value=True)


VARIABLES: Mapping[str, Variable] = {
    **type_constants(*SCALARS.values(), types.DURATION, types.TIMESTAMP, types.TYPE, EMPTY),
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


_Fields = Mapping[str, Value]
_Construct = Callable[[_Fields], Value]
_CLASSES: Final = {type_: class_ for class_, type_ in SCALARS.items()}


def _field_error(field: str, reason: object) -> CelError:
    return CelError(f"field type conversion error for {field} value type: {reason}")


def _scalar(field: str, value: Value, kind: types.Type, native: str) -> Value:
    """A field's value, refused where it is of another type than was declared."""
    try:
        value = content(value) if isinstance(value, OptionalValue) else value
        value = _as_text(value) if kind == types.STRING else value
        if value.__class__ is not _CLASSES[kind]:
            raise _refusal(value, native)
    except CelError as error:
        raise _field_error(field, error) from None
    if native == "int32" and not -(2**31) <= value < 2**31:  # type: ignore[operator]
        raise _field_error(field, INT_OVERFLOW)
    if native == "uint32" and not value < 2**32:  # type: ignore[operator]
        raise _field_error(field, UINT_OVERFLOW)
    return value


def _as_text(value: Value) -> Value:
    return text_of(value) if isinstance(value, Opaque) else value


def _refusal(value: Value, native: str) -> CelError:
    if isinstance(value, str):
        return CelError(f"unsupported native conversion from string to '{native}'")
    return no_conversion(value, native)


def _wrapper(name: str, kind: types.Type, native: str, zero: Value) -> StructType:
    full = f"google.protobuf.{name}"

    def construct(fields: _Fields) -> Value:
        if "value" not in fields:
            return zero
        value = _scalar(f"{full}.value", fields["value"], kind, native)
        if native == "float32" and isinstance(value, float):
            try:
                return float(struct.unpack("f", struct.pack("f", value))[0])
            except OverflowError:
                return float("inf") if value > 0 else float("-inf")
        return value

    return StructType(full, {"value": kind}, construct, types.wrapper_of(kind))


def _time_fields(name: str, fields: _Fields) -> tuple[int, int]:
    seconds = _scalar(f"{name}.seconds", fields.get("seconds", 0), types.INT, "int64")
    nanos = _scalar(f"{name}.nanos", fields.get("nanos", 0), types.INT, "int32")
    return seconds, nanos  # type: ignore[return-value]


def _timestamp(fields: _Fields) -> Timestamp:
    seconds, nanos = _time_fields(types.TIMESTAMP.name, fields)
    return Timestamp(seconds * SECOND + nanos)


def _duration(fields: _Fields) -> Duration:
    seconds, nanos = _time_fields(types.DURATION.name, fields)
    # What is beyond 64 bits becomes the longest duration there is.
    return Duration(max(INT_MIN, min(INT_MAX, seconds * SECOND + nanos)))


class _Json:
    """Values as protobuf's `Value` holds them; a value that occurs many times is made once."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[int, Value] = {}

    def of(self, value: Value) -> Value:
        """The value; raises `CelError` for what JSON has not."""
        if isinstance(value, float):
            return value
        if isinstance(value, OptionalValue):
            return self.of(content(value))
        if not isinstance(value, list | dict):
            return json_of(value)
        made = self._made.get(id(value))
        if made is None:
            made = self._made[id(value)] = (
                [self.of(member) for member in value]
                if isinstance(value, list)
                else {text_of(key): self.of(member) for key, member in value.items()}
            )
        return made


_VALUE_FIELDS: Final[Mapping[str, tuple[types.Type, str]]] = {
    "null_value": (types.INT, "protoreflect.EnumNumber"),
    "number_value": (types.DOUBLE, "float64"),
    "string_value": (types.STRING, "string"),
    "bool_value": (types.BOOL, "bool"),
    "struct_value": (types.map_of(types.STRING, types.DYN), "*structpb.Struct"),
    "list_value": (types.LIST_DYN, "*structpb.ListValue"),
}
_WITH_MEMBERS: Final[dict[type, types.Type]] = {list: types.LIST_DYN, dict: types.MAP_DYN}
_COMPOSED: Final[Mapping[str, type]] = {"struct_value": dict, "list_value": list}


def _value(fields: _Fields) -> Value:
    """The field that was set last decides, as they share one place."""
    result: Value = None
    for name, value in fields.items():
        kind, native = _VALUE_FIELDS[name]
        field = f"google.protobuf.Value.{name}"
        if name not in _COMPOSED:
            result = _scalar(field, value, kind, native)
            result = None if name == "null_value" else result
        elif isinstance(value, _COMPOSED[name]):
            result = _composed(field, value)
        else:
            raise _field_error(field, _refusal(value, native))
    return result


def _composed(field: str, value: Value) -> Value:
    try:
        return _Json().of(value)
    except CelError as error:
        raise _field_error(field, error) from None


def _holder(name: str, field: str, kind: type) -> _Construct:
    target = f"google.protobuf.{name}.{field}"

    def construct(fields: _Fields) -> Value:
        value = fields.get(field, kind())
        if not isinstance(value, kind):
            shown = _WITH_MEMBERS.get(value.__class__) or type_of(value)
            raise CelError(f"unsupported field type for {target}: {shown}")
        return _composed(target, value)

    return construct


_OTHERS: Final[tuple[tuple[str, Mapping[str, types.Type], _Construct, types.Type], ...]] = (
    (types.TIMESTAMP.name, {"seconds": types.INT, "nanos": types.INT}, _timestamp, types.TIMESTAMP),
    (types.DURATION.name, {"seconds": types.INT, "nanos": types.INT}, _duration, types.DURATION),
    (
        "google.protobuf.Value",
        {name: kind for name, (kind, _) in _VALUE_FIELDS.items()},
        _value,
        types.DYN,
    ),
    (
        "google.protobuf.Struct",
        {"fields": types.map_of(types.STRING, types.DYN)},
        _holder("Struct", "fields", dict),
        types.map_of(types.STRING, types.DYN),
    ),
    (
        "google.protobuf.ListValue",
        {"values": types.LIST_DYN},
        _holder("ListValue", "values", list),
        types.LIST_DYN,
    ),
    (EMPTY.name, {}, lambda _: Struct(EMPTY), EMPTY),
)


def _any(fields: _Fields) -> Value:
    """A packed wrapper is its value; nothing else that can be written has one."""
    url, data = fields.get("type_url", ""), fields.get("value", b"")
    raise CelError(f"unsupported conversion to ref.Val: (*dynamicpb.Message){url or data or ''}")


STRUCTS: Final[tuple[StructType, ...]] = (
    _wrapper("BoolValue", types.BOOL, "bool", False),
    _wrapper("BytesValue", types.BYTES, "[]uint8", b""),
    _wrapper("DoubleValue", types.DOUBLE, "float64", 0.0),
    _wrapper("FloatValue", types.DOUBLE, "float32", 0.0),
    _wrapper("Int32Value", types.INT, "int32", 0),
    _wrapper("Int64Value", types.INT, "int64", 0),
    _wrapper("StringValue", types.STRING, "string", ""),
    _wrapper("UInt32Value", types.UINT, "uint32", Uint(0)),
    _wrapper("UInt64Value", types.UINT, "uint64", Uint(0)),
    *(StructType(name, fields, construct, kind) for name, fields, construct, kind in _OTHERS),
    StructType(
        "google.protobuf.Any", {"type_url": types.STRING, "value": types.BYTES}, _any, types.ANY
    ),
)
