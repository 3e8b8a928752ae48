"""Values and their types as cel-go's error messages show them: Go's `%v`, and Go's names."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import OptionalValue, Struct, Uint, Value, type_of
from chartkit.go.duration import format_duration
from chartkit.go.fmt import format_float


def show(value: Value) -> str:
    """The text of a value: `abc`, `1e+06`, `[1, 2]`, `{a: 1}`, `1h0m0s`."""
    if value is None:
        # Go prints the number of protobuf's null.
        return "0"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return format_float(value)
    if isinstance(value, bytes):
        return "[" + " ".join(map(str, value)) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{show(key)}: {show(each)}" for key, each in value.items()) + "}"
    if isinstance(value, OptionalValue):
        return f"optional({show(value.value)})" if value.present else "optional.none()"
    if isinstance(value, Duration):
        return format_duration(value.nanoseconds)
    if isinstance(value, Timestamp):
        return _show_time(value)
    return str(value)


def _show_time(value: Timestamp) -> str:
    text = str(value)
    if text.endswith("Z"):
        day, _, time = text[:-1].partition("T")
        return f"{day} {time} +0000 UTC"
    day, _, time = text[:-6].partition("T")
    zone = text[-6:].replace(":", "")
    return f"{day} {time} {zone} {zone}"


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
