"""Protobuf's well-known types as literals: `google.protobuf.Int64Value{value: 1}`.

Their values are plain ones: a wrapper its number or text, `Struct`, `Value` and `ListValue` what
they hold as JSON, so that numbers in them are doubles.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import StructType
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.standard.constants import EMPTY
from chartkit.engine.cel.numbers import INT_OVERFLOW, UINT_OVERFLOW
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
)
from chartkit.engine.cel.values import INT_MAX, INT_MIN, OptionalValue, Struct, Uint, Value
from chartkit.engine.values.duration import SECOND

_Fields = Mapping[str, Value]
_JSON_SAFE: Final = 2**53 - 1
_CLASSES: Final = {BOOL: bool, BYTES: bytes, DOUBLE: float, INT: int, STRING: str, UINT: Uint}
_REFUSALS: Final[dict[type, str]] = {
    str: "unsupported native conversion from string to '{}'",
    int: "unsupported type conversion from 'int' to {}",
    Uint: "unsupported type conversion from 'uint' to {}",
    float: "type conversion error from Double to '{}'",
    bytes: "type conversion error from Bytes to '{}'",
    bool: "type conversion error from bool to '{}'",
    type(None): "type conversion error from 'null_type' to '{}'",
    list: "type conversion error from list to '{}'",
    Timestamp: "type conversion error from 'Timestamp' to '{}'",
    Duration: "type conversion error from 'Duration' to '{}'",
}


def _field_error(name: str, reason: str) -> CelError:
    return CelError(f"field type conversion error for {name} value type: {reason}")


def _scalar(place: str, value: Value, kind: Type, native: str) -> Value:
    """A field's value, refused where it is of another type than was declared."""
    if isinstance(value, OptionalValue) and value.present:
        value = value.value
    if value.__class__ is not _CLASSES[kind]:
        text = _REFUSALS.get(value.__class__, "type conversion error to '{}'")
        raise _field_error(place, text.format(native))
    if native == "int32" and not -(2**31) <= value < 2**31:  # type: ignore[operator]
        raise _field_error(place, INT_OVERFLOW)
    if native == "uint32" and not value < 2**32:  # type: ignore[operator]
        raise _field_error(place, UINT_OVERFLOW)
    return value


def _wrapper(name: str, kind: Type, native: str, zero: Value) -> StructType:
    full = f"google.protobuf.{name}"

    def construct(fields: _Fields) -> Value:
        if "value" not in fields:
            return zero
        value = _scalar(f"{full}.value", fields["value"], kind, native)
        if native == "float32" and isinstance(value, float):
            return _float32(value)
        return value

    return StructType(full, {"value": kind}, construct, types.wrapper_of(kind))


def _float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _time_fields(name: str, fields: _Fields) -> tuple[int, int]:
    seconds = _scalar(f"{name}.seconds", fields.get("seconds", 0), INT, "int64")
    nanos = _scalar(f"{name}.nanos", fields.get("nanos", 0), INT, "int32")
    return seconds, nanos  # type: ignore[return-value]


def _timestamp(fields: _Fields) -> Timestamp:
    seconds, nanos = _time_fields(TIMESTAMP.name, fields)
    return Timestamp(seconds * SECOND + nanos)


def _duration(fields: _Fields) -> Duration:
    seconds, nanos = _time_fields(DURATION.name, fields)
    # What is beyond 64 bits becomes the longest duration there is.
    return Duration(max(INT_MIN, min(INT_MAX, seconds * SECOND + nanos)))


def to_json(value: Value) -> Value:
    """A value as protobuf's `Value` holds it; raises `CelError` for what JSON has not."""
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        return float(value) if -_JSON_SAFE <= value <= _JSON_SAFE else str(int(value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, list):
        return [to_json(member) for member in value]
    if isinstance(value, dict):
        return {_json_key(key): to_json(member) for key, member in value.items()}
    if isinstance(value, Timestamp | Duration):
        return str(value)
    if isinstance(value, OptionalValue):
        if not value.present:
            raise CelError("optional.none() dereference")
        return to_json(value.value)
    if isinstance(value, Struct):
        return to_json(value.fields)
    raise CelError(f"type conversion error from '{value}' to '*structpb.Value'")


def _json_key(key: Value) -> str:
    if key.__class__ is str:
        return str(key)
    if key.__class__ is bool:
        return "true" if key else "false"
    return str(int(key))  # type: ignore[call-overload]


_VALUE_FIELDS: Final[Mapping[str, tuple[Type, str]]] = {
    "null_value": (INT, "structpb.NullValue"),
    "number_value": (DOUBLE, "float64"),
    "string_value": (STRING, "string"),
    "bool_value": (BOOL, "bool"),
    "struct_value": (types.map_of(STRING, DYN), ""),
    "list_value": (types.LIST_DYN, ""),
}


def _value(fields: _Fields) -> Value:
    """The field that was set last decides, as they share one place."""
    result: Value = None
    for name, value in fields.items():
        kind, native = _VALUE_FIELDS[name]
        if native:
            result = _scalar(f"google.protobuf.Value.{name}", value, kind, native)
            result = None if name == "null_value" else result
        else:
            result = to_json(value)
    return result


def _struct(fields: _Fields) -> Value:
    return to_json(fields.get("fields", {}))


def _list_value(fields: _Fields) -> Value:
    return to_json(fields.get("values", []))


_Fixed = Callable[[_Fields], Value]
_OTHERS: Final[tuple[tuple[str, Mapping[str, Type], _Fixed, Type], ...]] = (
    (TIMESTAMP.name, {"seconds": INT, "nanos": INT}, _timestamp, TIMESTAMP),
    (DURATION.name, {"seconds": INT, "nanos": INT}, _duration, DURATION),
    (
        "google.protobuf.Value",
        {name: kind for name, (kind, _) in _VALUE_FIELDS.items()},
        _value,
        DYN,
    ),
    (
        "google.protobuf.Struct",
        {"fields": types.map_of(STRING, DYN)},
        _struct,
        types.map_of(STRING, DYN),
    ),
    ("google.protobuf.ListValue", {"values": types.LIST_DYN}, _list_value, types.LIST_DYN),
    (EMPTY.name, {}, lambda _: Struct(EMPTY), EMPTY),
)


def _any(fields: _Fields) -> Value:
    """A packed wrapper is its value; nothing else that can be written has one."""
    url, data = fields.get("type_url", ""), fields.get("value", b"")
    raise CelError(f"unsupported conversion to ref.Val: (*dynamicpb.Message){url or data or ''}")


STRUCTS: Final[tuple[StructType, ...]] = (
    _wrapper("BoolValue", BOOL, "bool", False),
    _wrapper("BytesValue", BYTES, "[]uint8", b""),
    _wrapper("DoubleValue", DOUBLE, "float64", 0.0),
    _wrapper("FloatValue", DOUBLE, "float32", 0.0),
    _wrapper("Int32Value", INT, "int32", 0),
    _wrapper("Int64Value", INT, "int64", 0),
    _wrapper("StringValue", STRING, "string", ""),
    _wrapper("UInt32Value", UINT, "uint32", Uint(0)),
    _wrapper("UInt64Value", UINT, "uint64", Uint(0)),
    *(StructType(name, fields, construct, kind) for name, fields, construct, kind in _OTHERS),
    StructType("google.protobuf.Any", {"type_url": STRING, "value": BYTES}, _any, ANY),
)
