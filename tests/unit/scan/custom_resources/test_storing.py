"""Objects as an API server stores them."""

from chartkit.model import Body, Json
from chartkit.scan.custom_resources.schema import complete_defaults, decoded, read_schema
from tests.data import from_table

_POLICY: Body = {"type": "object", "properties": {"mode": {"type": "string", "default": "Never"}}}


@from_table("properties", "stored")
def test_defaults_of_fields_are_filled_into_defaults(properties: Body, stored: Json) -> None:
    schema = read_schema({"type": "object", "properties": properties})
    complete_defaults(schema)
    assert decoded(schema, {})[0] == stored
