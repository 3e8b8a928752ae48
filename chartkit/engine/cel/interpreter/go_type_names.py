"""Go's names for the types of values, in error messages."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import OptionalValue, Struct, Uint, Value, type_of

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
_GO_TYPES_OF_NAMES: Final = {
    "JSONPatch": "*mutation.JSONPatchVal",
    "kubernetes.NamedFormat": "*cel.Format",
    "kubernetes.Quantity": "cel.Quantity",
    "kubernetes.Semver": "cel.Semver",
    "kubernetes.URL": "cel.URL",
    "kyverno.image": "image.Image",
    "net.CIDR": "cel.CIDR",
    "net.IP": "cel.IP",
}


def go_type(value: Value) -> str:
    """Go's `%T` of a value."""
    known = _GO_TYPES.get(value.__class__)
    if known is not None:
        return known
    if isinstance(value, dict):
        return "*types.baseMap"
    if isinstance(value, Struct) and value.type.name.partition(".")[0] == "Object":
        return "*dynamic.ObjectVal"
    # Everything else is a struct of Go as it stands.
    return _GO_TYPES_OF_NAMES.get(type_of(value).name, "*ext.nativeObj")
