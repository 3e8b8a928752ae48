"""How Go calls the types of values in the messages of its errors."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import OptionalValue, Uint, Value

_GO_TYPES: Final[dict[type, str]] = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    Uint: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    list: "*types.baseList",
    dict: "*types.baseMap",
    OptionalValue: "*types.Optional",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    Type: "*types.Type",
}


def go_type(value: Value) -> str:
    """Go's `%T` of a value."""
    return _GO_TYPES.get(value.__class__, value.__class__.__name__)
