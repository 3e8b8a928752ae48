"""Values of one type made from another: `int('1')`, `string(1.5)`, `timestamp(0)`, `type(x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chartkit.engine.cel import times, types
from chartkit.engine.cel.declarations import Example, Implementation, Overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.numbers import checked_int, checked_uint, int_of_double, uint_of_double
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    Type,
)
from chartkit.engine.cel.values import UINT_MAX, Opaque, Uint, Value, type_of
from chartkit.go.duration import SECOND
from chartkit.go.fmt import format_float
from chartkit.go.strconv import NumberError, parse_float, parse_int

_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_UINT_DIGITS = len(str(UINT_MAX))


def _refused(wanted: Type) -> CelError:
    return CelError(f"type conversion error from 'string' to '{wanted}'")


def _type_value(value: Value) -> Type:
    return value.type_value() if isinstance(value, Opaque) else type_of(value)


def _same(value: Value) -> Value:
    return value


def bool_of_text(text: str) -> bool:
    """`true`, `t`, `1`, `false` and so on, as Go reads booleans; raises `CelError`."""
    known = _BOOLS.get(text)
    if known is None:
        raise _refused(BOOL)
    return known


def int_of_text(text: str) -> int:
    """A decimal number; raises `CelError`."""
    try:
        return parse_int(text)
    except NumberError:
        raise _refused(INT) from None


def uint_of_text(text: str) -> Uint:
    """A decimal number without a sign; raises `CelError`."""
    if not (text.isascii() and text.isdigit()):
        raise _refused(UINT)
    digits = text.lstrip("0")
    number = int(digits or "0") if len(digits) <= _UINT_DIGITS else UINT_MAX + 1
    if number > UINT_MAX:
        raise _refused(UINT)
    return Uint(number)


def double_of_text(text: str) -> float:
    """A number as Go reads floats: `1e3`, `0x1p-2`, `inf`; raises `CelError`."""
    try:
        return parse_float(text)
    except NumberError:
        raise _refused(DOUBLE) from None


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


def _int_of_uint(value: Uint) -> int:
    return checked_int(int(value))


def _timestamp_of_int(value: int) -> Timestamp:
    return times.checked_timestamp(value * SECOND)


def _nanoseconds(value: Duration) -> int:
    return value.nanoseconds


def _unix(value: Timestamp) -> int:
    return value.seconds


def _double_of_int(value: int) -> float:
    return float(value)


_Row = tuple[str, Type, Callable[[Any], Any], tuple[Example, ...]]


def _conversions(result: Type, doc: str, *rows: _Row) -> tuple[Overload, ...]:
    name = {TIMESTAMP: "timestamp", DURATION: "duration"}.get(result, result.name)
    return tuple(
        Overload(name, id, (source,), result, code, doc=doc, examples=examples, cost=_COSTS.get(id))
        for id, source, code, examples in rows
    )


def _e(expression: str, expected: str, error: bool = False) -> Example:
    return Example(expression, expected, error=error)


_COSTS = {"string_to_bytes": costs.of_first, "bytes_to_string": costs.of_first}
_NO_EXAMPLES: tuple[Example, ...] = ()
_TEXT_OF_TYPE: Implementation = str

OVERLOADS: tuple[Overload, ...] = (
    *_conversions(
        BOOL,
        "A boolean from a text: `true`, `t`, `1`, `false`, `f`, `0` and their capitals.",
        ("bool_to_bool", BOOL, _same, _NO_EXAMPLES),
        ("string_to_bool", STRING, bool_of_text, (_e("bool('true')", "true"),)),
    ),
    *_conversions(
        BYTES,
        "Bytes from a text in UTF-8.",
        ("bytes_to_bytes", BYTES, _same, _NO_EXAMPLES),
        ("string_to_bytes", STRING, bytes_of_text, (_e("bytes('ü')", "b'\\xc3\\xbc'"),)),
    ),
    *_conversions(
        DOUBLE,
        "A double from another number or a text.",
        ("double_to_double", DOUBLE, _same, _NO_EXAMPLES),
        ("int64_to_double", INT, _double_of_int, (_e("double(3)", "3.0"),)),
        ("string_to_double", STRING, double_of_text, (_e("double('1e3')", "1000.0"),)),
        ("uint64_to_double", UINT, _double_of_int, _NO_EXAMPLES),
    ),
    *_conversions(
        DURATION,
        "A duration from a text: `1h30m`, `-1.5s`, `20ms`.",
        ("duration_to_duration", DURATION, _same, _NO_EXAMPLES),
        (
            "string_to_duration",
            STRING,
            times.duration_of_text,
            (_e("string(duration('1m30s'))", "'90s'"),),
        ),
    ),
    *_conversions(
        INT,
        "An int from another number (cut towards zero), a text, a timestamp (its Unix seconds) or "
        "a duration (its nanoseconds).",
        ("int64_to_int64", INT, _same, _NO_EXAMPLES),
        (
            "double_to_int64",
            DOUBLE,
            int_of_double,
            (_e("int(-1.9)", "-1"), _e("int(dyn(1e19))", "integer overflow", True)),
        ),
        ("duration_to_int64", DURATION, _nanoseconds, (_e("int(duration('1us'))", "1000"),)),
        (
            "string_to_int64",
            STRING,
            int_of_text,
            (
                _e("int('-7')", "-7"),
                _e("int(dyn('x'))", "type conversion error from 'string' to 'int'", True),
            ),
        ),
        ("timestamp_to_int64", TIMESTAMP, _unix, (_e("int(timestamp(7))", "7"),)),
        ("uint64_to_int64", UINT, _int_of_uint, _NO_EXAMPLES),
    ),
    *_conversions(
        STRING,
        "The text of a value. Bytes have to be UTF-8; a timestamp keeps its offset.",
        ("string_to_string", STRING, _same, _NO_EXAMPLES),
        ("bool_to_string", BOOL, text_of_bool, (_e("string(true)", "'true'"),)),
        ("bytes_to_string", BYTES, text_of_bytes, (_e("string(b'abc')", "'abc'"),)),
        (
            "double_to_string",
            DOUBLE,
            format_float,
            (_e("string(1.0)", "'1'"), _e("string(1e6)", "'1e+06'")),
        ),
        ("duration_to_string", DURATION, str, (_e("string(duration('1h'))", "'3600s'"),)),
        ("int64_to_string", INT, text_of_int, (_e("string(-1)", "'-1'"),)),
        (
            "timestamp_to_string",
            TIMESTAMP,
            _TEXT_OF_TYPE,
            (
                _e(
                    "string(timestamp('2024-05-06T07:08:09.5+02:00'))",
                    "'2024-05-06T07:08:09.5+02:00'",
                ),
            ),
        ),
        ("uint64_to_string", UINT, text_of_int, (_e("string(1u)", "'1'"),)),
    ),
    *_conversions(
        TIMESTAMP,
        "A timestamp from a text in RFC 3339 or from seconds since 1970.",
        ("timestamp_to_timestamp", TIMESTAMP, _same, _NO_EXAMPLES),
        (
            "int64_to_timestamp",
            INT,
            _timestamp_of_int,
            (_e("string(timestamp(0))", "'1970-01-01T00:00:00Z'"),),
        ),
        ("string_to_timestamp", STRING, times.timestamp_of_text, _NO_EXAMPLES),
    ),
    *_conversions(
        UINT,
        "A uint from another number (cut towards zero) or a text.",
        ("uint64_to_uint64", UINT, _same, _NO_EXAMPLES),
        ("double_to_uint64", DOUBLE, uint_of_double, (_e("uint(1.9)", "1u"),)),
        (
            "int64_to_uint64",
            INT,
            checked_uint,
            (_e("uint(1)", "1u"), _e("uint(dyn(-1))", "unsigned integer overflow", True)),
        ),
        ("string_to_uint64", STRING, uint_of_text, (_e("uint('7')", "7u"),)),
    ),
    Overload(
        "dyn",
        "to_dyn",
        (A,),
        DYN,
        _same,
        doc="The value as it is; the checker asks nothing more about its type.",
        examples=(_e("dyn(1) == 1.0", "true"),),
    ),
    Overload(
        "type",
        "type",
        (A,),
        types.type_of_type(A),
        _type_value,
        doc="The type of a value.",
        examples=(_e("type(1) == int", "true"), _e("type([1.5]) == list", "true")),
    ),
)
