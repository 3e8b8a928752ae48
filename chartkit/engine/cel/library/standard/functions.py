"""Functions: values of one type made from another (`int('1')`, `string(1.5)`, `timestamp(0)`,
`type(x)`); `contains`, `startsWith`, `endsWith` and `matches` of texts; the parts of timestamps and
durations: `getFullYear`, `getHours` …
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Final

from chartkit.engine.cel import times, types
from chartkit.engine.cel.declarations import Implementation, Overload, overload, overloads
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.library.searching import is_found, of_search
from chartkit.engine.cel.times import Duration, Timestamp, in_zone
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
from chartkit.go.duration import HOUR, MILLISECOND, MINUTE, SECOND
from chartkit.go.fmt import format_float
from chartkit.go.regexp import RegexError, compile_regex
from chartkit.go.strconv import BOOLS, NumberError, parse_float, parse_int

_UINT_DIGITS = len(str(UINT_MAX))


def _refused(wanted: types.Type) -> CelError:
    return CelError(f"type conversion error from 'string' to '{wanted}'")


def _type_value(value: Value) -> types.Type:
    return value.type_value() if isinstance(value, Opaque) else type_of(value)


def _same(value: Value) -> Value:
    return value


def bool_of_text(text: str) -> bool:
    """`true`, `t`, `1`, `false` and so on, as Go reads booleans; raises `CelError`."""
    value = BOOLS.get(text)
    if value is None:
        raise _refused(types.BOOL)
    return value


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
    """The text in UTF-8; half a surrogate pair, which is not a character, becomes `?`."""
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


def _timestamp_of_seconds(value: int) -> times.Timestamp:
    return times.checked_timestamp(value * SECOND)


_CONVERSIONS: Final = (
    *overloads(
        {
            "bool_to_bool: bool(bool) -> bool": _same,
            "string_to_bool: bool(string) -> bool": bool_of_text,
            "bytes_to_bytes: bytes(bytes) -> bytes": _same,
        }
    ),
    overload("string_to_bytes: bytes(string) -> bytes", cost=costs.of_first)(bytes_of_text),
    *overloads(
        {
            "double_to_double: double(double) -> double": _same,
            "int64_to_double: double(int) -> double": _double_of_int,
            "string_to_double: double(string) -> double": double_of_text,
            "uint64_to_double: double(uint) -> double": _double_of_int,
            "duration_to_duration: duration(duration) -> duration": _same,
            "string_to_duration: duration(string) -> duration": times.duration_of_text,
            "int64_to_int64: int(int) -> int": _same,
            "double_to_int64: int(double) -> int": int_of_double,
            "duration_to_int64: int(duration) -> int": lambda value: value.nanoseconds,
            "string_to_int64: int(string) -> int": int_of_text,
            "timestamp_to_int64: int(timestamp) -> int": lambda value: value.seconds,
            "uint64_to_int64: int(uint) -> int": lambda value: checked_int(int(value)),
            "string_to_string: string(string) -> string": _same,
            "bool_to_string: string(bool) -> string": text_of_bool,
        }
    ),
    overload("bytes_to_string: string(bytes) -> string", cost=costs.of_first)(text_of_bytes),
    *overloads(
        {
            "double_to_string: string(double) -> string": format_float,
            "duration_to_string: string(duration) -> string": str,
            "int64_to_string: string(int) -> string": text_of_int,
            "timestamp_to_string: string(timestamp) -> string": str,
            "uint64_to_string: string(uint) -> string": text_of_int,
            "timestamp_to_timestamp: timestamp(timestamp) -> timestamp": _same,
            "int64_to_timestamp: timestamp(int) -> timestamp": _timestamp_of_seconds,
            "string_to_timestamp: timestamp(string) -> timestamp": times.timestamp_of_text,
            "uint64_to_uint64: uint(uint) -> uint": _same,
            "double_to_uint64: uint(double) -> uint": uint_of_double,
            "int64_to_uint64: uint(int) -> uint": checked_uint,
            "string_to_uint64: uint(string) -> uint": uint_of_text,
            "to_dyn: dyn(A) -> dyn": _same,
            "type: type(A) -> type(A)": _type_value,
        }
    ),
)


def _matches(text: str, pattern: str) -> bool:
    try:
        return is_found(compile_regex(pattern), text)
    except RegexError as error:
        raise CelError(str(error)) from None


_TEXTS: Final = (
    overload("contains_string: string.contains(string) -> bool", cost=costs.of_search)(
        operator.contains
    ),
    *overloads(
        {
            "ends_with_string: string.endsWith(string) -> bool": str.endswith,
            "starts_with_string: string.startsWith(string) -> bool": str.startswith,
        },
        cost=costs.of_second,
    ),
    *overloads(
        {
            "matches: matches(string, string) -> bool": _matches,
            "matches_string: string.matches(string) -> bool": _matches,
        },
        cost=costs.of_matching,
        work=of_search,
    ),
)


_Part = Callable[[Timestamp], int]


def _whole_seconds(duration: Duration) -> int:
    # By way of a double, as Go has it: the last of many digits may be rounded.
    return int(duration.seconds)


_PARTS: dict[str, tuple[str, _Part]] = {
    "getFullYear": ("year", lambda time: time.moment.date[0]),
    "getMonth": ("month", lambda time: time.moment.date[1] - 1),
    "getDayOfYear": ("day_of_year", lambda time: time.day_of_year),
    "getDayOfMonth": ("day_of_month", lambda time: time.moment.date[2] - 1),
    "getDate": ("day_of_month_1_based", lambda time: time.moment.date[2]),
    "getDayOfWeek": ("day_of_week", lambda time: time.moment.weekday),
    "getHours": ("hours", lambda time: time.time_of_day[0]),
    "getMinutes": ("minutes", lambda time: time.time_of_day[1]),
    "getSeconds": ("seconds", lambda time: time.time_of_day[2]),
    "getMilliseconds": ("milliseconds", lambda time: time.time_of_day[3] // MILLISECOND),
}
_DURATIONS: dict[str, tuple[str, Callable[[Duration], int]]] = {
    "getHours": ("hours", lambda duration: duration.whole(HOUR)),
    "getMinutes": ("minutes", lambda duration: duration.whole(MINUTE)),
    "getSeconds": ("seconds", _whole_seconds),
    "getMilliseconds": ("milliseconds", lambda duration: duration.whole(MILLISECOND)),
}


def _in_utc(part: _Part) -> Implementation:
    def in_utc(time: Timestamp) -> int:
        return part(in_zone(time, "UTC"))

    return in_utc


def _in_zone(part: _Part) -> Implementation:
    def zoned(time: Timestamp, zone: str) -> int:
        return part(in_zone(time, zone))

    return zoned


def _overloads() -> Iterator[Overload]:
    for function, (id, part) in _PARTS.items():
        yield overload(f"timestamp_to_{id}: timestamp.{function}() -> int")(_in_utc(part))
        zoned = "seconds_tz" if id == "seconds" else f"{id}_with_tz"
        yield overload(f"timestamp_to_{zoned}: timestamp.{function}(string) -> int")(_in_zone(part))
    for function, (unit, count) in _DURATIONS.items():
        yield overload(f"duration_to_{unit}: duration.{function}() -> int")(count)


OVERLOADS: Final = (*_CONVERSIONS, *_TEXTS, *_overloads())
