"""Values of one type made from another: `int('1')`, `string(1.5)`, `timestamp(0)`, `type(x)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from chartkit.engine.cel import times, types
from chartkit.engine.cel.declarations import Overload, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.values import (
    UINT_MAX,
    Opaque,
    Uint,
    Value,
    checked_int,
    checked_uint,
    int_of_double,
    type_of,
    uint_of_double,
)
from chartkit.go.duration import SECOND
from chartkit.go.fmt import format_float
from chartkit.go.strconv import NumberError, parse_float, parse_int

_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_UINT_DIGITS = len(str(UINT_MAX))


def _refused(wanted: types.Type) -> CelError:
    return CelError(f"type conversion error from 'string' to '{wanted}'")


def _type_value(value: Value) -> types.Type:
    return value.type_value() if isinstance(value, Opaque) else type_of(value)


def _same(value: Value) -> Value:
    return value


def bool_of_text(text: str) -> bool:
    """`true`, `t`, `1`, `false` and so on, as Go reads booleans; raises `CelError`."""
    known = _BOOLS.get(text)
    if known is None:
        raise _refused(types.BOOL)
    return known


def int_of_text(text: str) -> int:
    """A decimal number; raises `CelError`."""
    try:
        return parse_int(text)
    except NumberError:
        raise _refused(types.INT) from None


def uint_of_text(text: str) -> Uint:
    """A decimal number without a sign; raises `CelError`."""
    if not (text.isascii() and text.isdigit()):
        raise _refused(types.UINT)
    digits = text.lstrip("0")
    number = int(digits or "0") if len(digits) <= _UINT_DIGITS else UINT_MAX + 1
    if number > UINT_MAX:
        raise _refused(types.UINT)
    return Uint(number)


def double_of_text(text: str) -> float:
    """A number as Go reads floats: `1e3`, `0x1p-2`, `inf`; raises `CelError`."""
    try:
        return parse_float(text)
    except NumberError:
        raise _refused(types.DOUBLE) from None


def bytes_of_text(text: str) -> bytes:
    """The text in UTF-8; half a surrogate pair, which is no character, becomes `?`."""
    return text.encode("utf-8", "replace")


def text_of_bytes(data: bytes) -> str:
    """The text that the bytes are in UTF-8; raises `CelError`."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def text_of_bool(value: bool) -> str:
    """`true` or `false`."""
    return "true" if value else "false"


def text_of_int(value: int) -> str:
    """The number in decimal, without the `u` of a uint."""
    return str(int(value))


def _double_of_int(value: int) -> float:
    return float(value)


_Row = tuple[str, str, Callable[[Any], Any], *tuple[str, ...]]


def _conversions(result: str, doc: str, *rows: _Row) -> Iterator[Overload]:
    for id, source, code, *examples in rows:
        declare = overload(
            f"{id}: {result}({source}) -> {result}", doc, *examples, cost=_COSTS.get(id)
        )
        yield declare(code)


_COSTS = {"string_to_bytes": costs.of_first, "bytes_to_string": costs.of_first}

OVERLOADS: tuple[Overload, ...] = (
    *_conversions(
        "bool",
        "A boolean from a text: `true`, `t`, `1`, `false`, `f`, `0` and their capitals.",
        ("bool_to_bool", "bool", _same),
        ("string_to_bool", "string", bool_of_text, "bool('true')  // true"),
    ),
    *_conversions(
        "bytes",
        "Bytes from a text in UTF-8.",
        ("bytes_to_bytes", "bytes", _same),
        ("string_to_bytes", "string", bytes_of_text, "bytes('ü')  // b'\\xc3\\xbc'"),
    ),
    *_conversions(
        "double",
        "A double from another number or a text.",
        ("double_to_double", "double", _same),
        ("int64_to_double", "int", _double_of_int, "double(3)  // 3.0"),
        ("string_to_double", "string", double_of_text, "double('1e3')  // 1000.0"),
        ("uint64_to_double", "uint", _double_of_int),
    ),
    *_conversions(
        "duration",
        "A duration from a text: `1h30m`, `-1.5s`, `20ms`.",
        ("duration_to_duration", "duration", _same),
        (
            "string_to_duration",
            "string",
            times.duration_of_text,
            "string(duration('1m30s'))  // '90s'",
        ),
    ),
    *_conversions(
        "int",
        "An int from another number (cut towards zero), a text, a timestamp (its Unix seconds) or "
        "a duration (its nanoseconds).",
        ("int64_to_int64", "int", _same),
        (
            "double_to_int64",
            "double",
            int_of_double,
            "int(-1.9)  // -1",
            "int(dyn(1e19))  // error: integer overflow",
        ),
        (
            "duration_to_int64",
            "duration",
            lambda value: value.nanoseconds,
            "int(duration('1us'))  // 1000",
        ),
        (
            "string_to_int64",
            "string",
            int_of_text,
            "int('-7')  // -7",
            "int(dyn('x'))  // error: type conversion error from 'string' to 'int'",
        ),
        ("timestamp_to_int64", "timestamp", lambda value: value.seconds, "int(timestamp(7))  // 7"),
        ("uint64_to_int64", "uint", lambda value: checked_int(int(value))),
    ),
    *_conversions(
        "string",
        "The text of a value. Bytes have to be UTF-8; a timestamp keeps its offset.",
        ("string_to_string", "string", _same),
        ("bool_to_string", "bool", text_of_bool, "string(true)  // 'true'"),
        ("bytes_to_string", "bytes", text_of_bytes, "string(b'abc')  // 'abc'"),
        (
            "double_to_string",
            "double",
            format_float,
            "string(1.0)  // '1'",
            "string(1e6)  // '1e+06'",
        ),
        ("duration_to_string", "duration", str, "string(duration('1h'))  // '3600s'"),
        ("int64_to_string", "int", text_of_int, "string(-1)  // '-1'"),
        (
            "timestamp_to_string",
            "timestamp",
            str,
            "string(timestamp('2024-05-06T07:08:09.5+02:00'))  // '2024-05-06T07:08:09.5+02:00'",
        ),
        ("uint64_to_string", "uint", text_of_int, "string(1u)  // '1'"),
    ),
    *_conversions(
        "timestamp",
        "A timestamp from a text in RFC 3339 or from seconds since 1970.",
        ("timestamp_to_timestamp", "timestamp", _same),
        (
            "int64_to_timestamp",
            "int",
            lambda value: times.checked_timestamp(value * SECOND),
            "string(timestamp(0))  // '1970-01-01T00:00:00Z'",
        ),
        ("string_to_timestamp", "string", times.timestamp_of_text),
    ),
    *_conversions(
        "uint",
        "A uint from another number (cut towards zero) or a text.",
        ("uint64_to_uint64", "uint", _same),
        ("double_to_uint64", "double", uint_of_double, "uint(1.9)  // 1u"),
        (
            "int64_to_uint64",
            "int",
            checked_uint,
            "uint(1)  // 1u",
            "uint(dyn(-1))  // error: unsigned integer overflow",
        ),
        ("string_to_uint64", "string", uint_of_text, "uint('7')  // 7u"),
    ),
    overload(
        "to_dyn: dyn(A) -> dyn",
        "The value as it is; the checker asks nothing more about its type.",
        "dyn(1) == 1.0  // true",
    )(_same),
    overload(
        "type: type(A) -> type(A)",
        "The type of a value.",
        "type(1) == int  // true",
        "type([1.5]) == list  // true",
    )(_type_value),
)
