"""The compact notation, expression by expression, and what it stands for."""

from typing import Any

import pytest

from chartkit.errors import InputError
from chartkit.schemas.compact import json_schema, parse_type, parse_types, resolved, type_library
from tests.data import from_table


@from_table("text", "schema")
def test_compact_expressions(text: str, schema: dict[str, Any]) -> None:
    assert parse_type(text, "T") == schema


@pytest.mark.parametrize(
    "body", ["strin", "string 1-2", "list", "Name x", 3, ["string", "bool"], {"a": {"$what": 1}}]
)
def test_what_is_no_type_is_refused(body: Any) -> None:
    with pytest.raises(InputError, match="type T"):
        parse_type(body, "T")


def test_a_reference_to_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no type is called Missing"):
        parse_types({"T": {"a": "list Missing"}})


def test_objects_extend_each_other() -> None:
    types = parse_types(
        {
            "Base": {"a!": "string", "b": "int"},
            "More": {"$extends": "Base", "$notBoth": "b c", "b": "bool", "c!": "Base"},
        }
    )
    base = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a"],
    }
    assert resolved(types["More"], types) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}, "c": base},
        "required": ["a", "c"],
        "not": {"required": ["b", "c"]},
    }


def test_json_schema_refuses_unknown_fields_but_leaves_open_parts_open() -> None:
    types = parse_types({"T": {"a": "object", "b": {"$open": True, "c": "string?"}}})
    schema = json_schema(resolved(types["T"], types))
    assert schema["additionalProperties"] is False
    assert schema["properties"]["a"] == {"type": "object"}
    assert "additionalProperties" not in schema["properties"]["b"]
    assert schema["properties"]["b"]["properties"]["c"] == {"type": ["string", "null"]}


def test_a_union_of_scalars_is_one_schema() -> None:
    schema = json_schema(parse_type("string /^[0-9]+%$/ | int32 0..?", "T"))
    assert schema["type"] == ["string", "integer", "null"]
    assert schema["pattern"] == "^[0-9]+%$"
    assert schema["minimum"] == 0


def test_every_reference_of_the_library_leads_to_a_type() -> None:
    """The library reads a type when it is asked for, so nothing else would say so."""
    types = type_library()
    assert len(types) == len({*types}) > 100
    for name, schema in types.items():
        resolved(schema, types)
        assert types[name] is schema
    assert "Missing" not in types
