"""Conversions, Protobuf's well-known types, and the parts of timestamps and durations."""

import math
from collections.abc import Mapping

import pytest

from chartkit.engine.cel import types
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.standard import LIBRARY
from chartkit.engine.cel.times import Duration, Timestamp, duration_of_text, timestamp_of_text
from chartkit.engine.cel.values import INT_MAX, INT_MIN, NONE, UINT_MAX, Uint, Value
from tests.data import from_table
from tests.unit.engine.cel.library.calls import answer

_OVERFLOW = ("error", "integer overflow")
_UINT_OVERFLOW = ("error", "unsigned integer overflow")


def _refused(wanted: str) -> tuple[str, str]:
    return "error", f"type conversion error from 'string' to '{wanted}'"


@pytest.mark.parametrize(
    ("id", "value", "expected"),
    [
        ("double_to_int64", 1.9, ("int", 1)),
        ("double_to_int64", -1.9, ("int", -1)),
        ("double_to_int64", 2.0**63, _OVERFLOW),
        ("double_to_int64", -(2.0**63), _OVERFLOW),
        ("double_to_int64", math.nan, _OVERFLOW),
        ("double_to_int64", math.inf, _OVERFLOW),
        ("uint64_to_int64", Uint(2**63), _OVERFLOW),
        ("uint64_to_int64", Uint(7), ("int", 7)),
        ("duration_to_int64", Duration(1500), ("int", 1500)),
        ("timestamp_to_int64", Timestamp(-1), ("int", -1)),
        ("string_to_int64", "+7", ("int", 7)),
        ("string_to_int64", "00012", ("int", 12)),
        ("string_to_int64", "-9223372036854775808", ("int", INT_MIN)),
        ("string_to_int64", "9223372036854775808", _refused("int")),
        ("string_to_int64", "1_000", _refused("int")),
        ("string_to_int64", " 12", _refused("int")),
        ("string_to_int64", "0x10", _refused("int")),
        ("string_to_int64", "٣", _refused("int")),
        ("string_to_int64", "", _refused("int")),
        ("double_to_uint64", -0.5, _UINT_OVERFLOW),
        ("double_to_uint64", 2.0**64, _UINT_OVERFLOW),
        ("double_to_uint64", 1.9, ("Uint", Uint(1))),
        ("int64_to_uint64", -1, _UINT_OVERFLOW),
        ("string_to_uint64", "18446744073709551615", ("Uint", Uint(UINT_MAX))),
        ("string_to_uint64", "18446744073709551616", _refused("uint")),
        ("string_to_uint64", "+1", _refused("uint")),
        ("string_to_uint64", "5u", _refused("uint")),
        ("string_to_double", "1_0", ("float", 10.0)),
        ("string_to_double", "0x1p-2", ("float", 0.25)),
        ("string_to_double", "-Infinity", ("float", -math.inf)),
        ("string_to_double", "nan", ("float", "nan")),
        ("string_to_double", "1e400", _refused("double")),
        ("string_to_double", " 1", _refused("double")),
        ("int64_to_double", INT_MAX, ("float", 2.0**63)),
        ("string_to_bool", "T", ("bool", True)),
        ("string_to_bool", "FALSE", ("bool", False)),
        ("string_to_bool", "tRue", _refused("bool")),
        ("string_to_bytes", "é", ("bytes", b"\xc3\xa9")),
        ("bytes_to_string", b"\xff", ("error", "invalid UTF-8 in bytes, cannot convert to string")),
        ("bytes_to_string", b"\xc3\xa9", ("str", "é")),
        ("double_to_string", 1.0, ("str", "1")),
        ("double_to_string", 1e6, ("str", "1e+06")),
        ("double_to_string", 123456.789, ("str", "123456.789")),
        ("double_to_string", 1e-7, ("str", "1e-07")),
        ("double_to_string", -0.0, ("str", "-0")),
        ("double_to_string", math.inf, ("str", "+Inf")),
        ("double_to_string", math.nan, ("str", "NaN")),
        ("uint64_to_string", Uint(7), ("str", "7")),
        ("bool_to_string", True, ("str", "true")),
        ("duration_to_string", Duration(5_400_000_000_000), ("str", "5400s")),
        (
            "timestamp_to_string",
            Timestamp(1, -5400),
            ("str", "1969-12-31T22:30:00.000000001-01:30"),
        ),
        ("int64_to_timestamp", 253_402_300_800, ("error", "timestamp overflow")),
        ("int64_to_timestamp", -62_135_596_801, ("error", "timestamp overflow")),
        ("string_to_duration", "1d", _refused("google.protobuf.Duration")),
    ],
)
def test_conversions(id: str, value: Value, expected: tuple[str, Value]) -> None:
    assert answer(LIBRARY, id, (value,)) == expected


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null_type"),
        (True, "bool"),
        (1, "int"),
        (Uint(1), "uint"),
        (1.5, "double"),
        ([1], "list"),
        ({"a": 1}, "map"),
        (Timestamp(0), "google.protobuf.Timestamp"),
        (Duration(0), "google.protobuf.Duration"),
        (types.INT, "type"),
        (NONE, "optional_type"),
    ],
)
def test_types_of_values(value: Value, name: str) -> None:
    kind, found = answer(LIBRARY, "type", (value,))
    assert (kind, str(found)) == ("Type", name)


def _make(name: str, fields: Mapping[str, Value]) -> Value:
    struct = next(each for each in LIBRARY.structs if each.name == f"google.protobuf.{name}")
    assert struct.construct is not None
    return struct.construct(fields)


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("Int32Value", {"value": 1}, 1),
        ("Int64Value", {}, 0),
        ("UInt64Value", {"value": Uint(7)}, Uint(7)),
        ("FloatValue", {"value": 0.1}, 0.10000000149011612),
        ("DoubleValue", {"value": 0.1}, 0.1),
        ("BoolValue", {}, False),
        ("StringValue", {}, ""),
        ("BytesValue", {"value": b"a"}, b"a"),
        ("Timestamp", {"seconds": 10, "nanos": -5}, Timestamp(9_999_999_995)),
        ("Duration", {"seconds": INT_MAX}, Duration(INT_MAX)),
        ("Value", {}, None),
        ("Value", {"null_value": 0}, None),
        ("Value", {"number_value": 1.5, "string_value": "a"}, "a"),
        ("Value", {"list_value": [1, b"a", None]}, [1.0, "YQ==", None]),
        ("Struct", {"fields": {"a": {"b": Uint(1)}}}, {"a": {"b": 1.0}}),
        ("Struct", {"fields": {"a": 2**53}}, {"a": str(2**53)}),
        ("ListValue", {"values": [Timestamp(0)]}, ["1970-01-01T00:00:00Z"]),
    ],
)
def test_protobuf_literals(name: str, fields: Mapping[str, Value], expected: Value) -> None:
    made = _make(name, fields)
    assert (made.__class__, made) == (expected.__class__, expected)


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("Int32Value", {"value": 2**31}, "integer overflow"),
        ("UInt32Value", {"value": Uint(2**32)}, "unsigned integer overflow"),
        ("Int32Value", {"value": "a"}, "unsupported native conversion from string to 'int32'"),
        ("DoubleValue", {"value": 1}, "unsupported type conversion from 'int' to float64"),
    ],
)
def test_refused_fields(name: str, fields: Mapping[str, Value], reason: str) -> None:
    with pytest.raises(CelError) as raised:
        _make(name, fields)
    place = f"google.protobuf.{name}.value"
    assert str(raised.value) == f"field type conversion error for {place} value type: {reason}"


_LEAP_DAY = "2024-02-29T23:45:59.987654321-02:00"


@from_table("id", "expected")
def test_parts_are_in_utc_whatever_the_offset(id: str, expected: int) -> None:
    assert answer(LIBRARY, id, (timestamp_of_text(_LEAP_DAY),)) == ("int", expected)


@from_table("id", "zone", "expected")
def test_parts_in_a_zone(id: str, zone: str, expected: int) -> None:
    assert answer(LIBRARY, id, (timestamp_of_text(_LEAP_DAY), zone)) == ("int", expected)


def test_an_unknown_zone() -> None:
    found = answer(LIBRARY, "timestamp_to_hours_with_tz", (timestamp_of_text(_LEAP_DAY), "Moon"))
    assert found == ("error", "unknown time zone Moon")


@from_table("id", "text", "expected")
def test_durations_are_cut_towards_zero(id: str, text: str, expected: int) -> None:
    assert answer(LIBRARY, id, (duration_of_text(text),)) == ("int", expected)
