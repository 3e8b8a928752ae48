"""Values of CEL as recorded cases have them."""

from chartkit.engine.cel.types import struct
from chartkit.engine.cel.values import Struct, Value
from tests.conformance.cel_answers import recorded_value


def test_operations_of_json_patches_are_printed_as_go_has_them() -> None:
    with_value: dict[str, Value] = {"op": "add", "path": "/a", "value": 1}
    for fields, text in (
        (with_value, "&{Op:add From: Path:/a Val:1}"),
        ({"op": "remove", "path": "/a"}, "&{Op:remove From: Path:/a Val:<nil>}"),
    ):
        encoded, name = recorded_value(Struct(struct("JSONPatch"), fields))
        assert (encoded, name) == ({"$type": "JSONPatch", "str": text}, "JSONPatch")
