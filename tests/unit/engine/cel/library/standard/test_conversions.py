"""Conversions: what each type is made of, and how each is refused."""

import math

import pytest

from chartkit.engine.cel import types
from chartkit.engine.cel.library.standard import LIBRARY
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.values import INT_MAX, INT_MIN, NONE, UINT_MAX, Uint, Value
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
        (
            "bytes_to_string",
            b"\xff",
            ("error", "invalid UTF-8 in bytes, cannot convert to string"),
        ),
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
