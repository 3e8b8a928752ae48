"""Protobuf's well-known types become plain values."""

from collections.abc import Mapping

import pytest

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.standard import LIBRARY
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.values import INT_MAX, Uint, Value


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
