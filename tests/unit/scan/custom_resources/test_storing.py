"""Objects as an API server stores them."""

import pytest

from chartkit.model import Body, Json
from chartkit.scan.custom_resources.schema import complete_defaults, decoded, read_schema

_POLICY: Body = {"type": "object", "properties": {"mode": {"type": "string", "default": "Never"}}}


@pytest.mark.parametrize(
    ("properties", "stored"),
    [
        ({"a": {**_POLICY, "default": {}}}, {"a": {"mode": "Never"}}),
        ({"a": {**_POLICY, "default": {"mode": "Any"}}}, {"a": {"mode": "Any"}}),
        ({"a": _POLICY}, {}),
        (
            {
                "a": {
                    "type": "object",
                    "default": {},
                    "properties": {"b": {**_POLICY, "default": {}}},
                }
            },
            {"a": {"b": {"mode": "Never"}}},
        ),
        (
            {"a": {"type": "array", "default": [{}], "items": _POLICY}},
            {"a": [{"mode": "Never"}]},
        ),
    ],
)
def test_defaults_of_fields_are_filled_into_defaults(properties: Body, stored: Json) -> None:
    schema = read_schema({"type": "object", "properties": properties})
    complete_defaults(schema)
    assert decoded(schema, {})[0] == stored
