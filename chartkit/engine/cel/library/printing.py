"""Values and their types as cel-go's error messages show them: Go's `%v`, and Go's names."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Final

from chartkit.documents.yaml_builder import whole
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.costs import bounded_value
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type, TypeKind
from chartkit.engine.cel.values import Opaque, OptionalValue, Struct, Uint, Value, type_of
from chartkit.errors import Reraise
from chartkit.go.duration import format_duration
from chartkit.go.fmt import format_float
from chartkit.go.strconv import Int64, as_float
from chartkit.model import Body, Json


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
        return "{" + ", ".join(f"{show(key)}: {show(item)}" for key, item in value.items()) + "}"
    if isinstance(value, OptionalValue):
        return f"optional({show(value.value)})" if value.present else "optional.none()"
    if isinstance(value, Duration):
        return format_duration(value.nanoseconds)
    if isinstance(value, Timestamp):
        text = str(value)
        if text.endswith("Z"):
            day, _, time = text[:-1].partition("T")
            return f"{day} {time} +0000 UTC"
        day, _, time = text[:-6].partition("T")
        zone = text[-6:].replace(":", "")
        return f"{day} {time} {zone} {zone}"
    return str(value)


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
    go_name = _GO_TYPES.get(value.__class__)
    if go_name is not None:
        return go_name
    if isinstance(value, dict):
        return "*types.baseMap"
    name = type_of(value).name
    if isinstance(value, Struct) and name.partition(".")[0] == "Object":
        return "*dynamic.ObjectVal"
    if name == "JSONPatch":
        return "*mutation.JSONPatchVal"
    # Everything else is a struct of Go as it stands.
    return _GO_TYPES_OF_NAMES.get(name, "*ext.nativeObj")


_SAFE_INTEGER: Final = 2**53 - 1
_TEXTS: Final = _GO_TYPES_OF_NAMES.keys() - {"kubernetes.NamedFormat"}
_NATIVE_NAMES: Final = {
    **{name: go.rpartition(".")[2] for name, go in _GO_TYPES_OF_NAMES.items()},
    "google.protobuf.Duration": "Duration",
    "google.protobuf.Timestamp": "Timestamp",
}
_SHOWN: Final[Mapping[type, str]] = {
    float: "Double",
    bool: "bool",
    bytes: "Bytes",
    type(None): "'null_type'",
    list: "list",
    dict: "map",
}
NO_TYPE: Final = "type conversion not supported for 'type'"


def text_of(value: Value) -> str:
    """The value as a Go string; raises `CelError` for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, OptionalValue):
        return text_of(content(value))
    if isinstance(value, Opaque) and value.cel_type.name in _TEXTS:
        return str(value)
    raise no_conversion(value, "string")


def no_conversion(value: Value, target: str) -> CelError:
    """The error for a value that cannot be turned into a type of Go."""
    if isinstance(value, Type):
        return CelError(NO_TYPE)
    if isinstance(value, int) and not isinstance(value, bool):
        kind = "uint" if isinstance(value, Uint) else "int"
        return CelError(f"unsupported type conversion from '{kind}' to {target}")
    shown = _SHOWN.get(value.__class__) or f"'{native_name(value)}'"
    return CelError(f"type conversion error from {shown} to '{target}'")


def content(optional: OptionalValue) -> Value:
    """Return the content of an optional; raises `CelError` if it is empty."""
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def native_name(value: Value) -> str:
    """Return the type of a value, as messages about conversions name it."""
    name = type_of(value).name
    return _NATIVE_NAMES.get(name, name)


def json_of(value: Value) -> Json:
    """The value as JSON, whole numbers as doubles; raises `CelError` for what JSON lacks."""
    bounded_value(value)
    return _json(value)


def _json(value: Value) -> Json:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return float(value) if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else str(int(value))
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        if math.isnan(value):
            return "NaN"
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [_json(member) for member in value]
    if isinstance(value, dict):
        return {text_of(key): _json(member) for key, member in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Timestamp | Duration):
        return str(value)
    if isinstance(value, OptionalValue):
        return _json(content(value))
    if isinstance(value, Struct) and value.type.kind is TypeKind.STRUCT:
        return {name: _json(member) for name, member in value.fields.items()}
    raise no_conversion(value, "*structpb.Value")


def json_object(value: Mapping[Value, Value]) -> Body:
    """A map as a JSON object; raises `CelError`."""
    bounded_value(value)
    return {text_of(key): _json(member) for key, member in value.items()}


def doubles(value: Json) -> Value:
    """JSON as Go's decoder gives it: every number is a double, except an `Int64`."""
    kind = value.__class__
    if kind is Int64:
        return int(value)
    if kind is int:
        return as_float(value)
    if isinstance(value, dict):
        return {key: doubles(member) for key, member in value.items()}
    if isinstance(value, list):
        return [doubles(member) for member in value]
    return value


def as_written(value: Json) -> Json:
    """JSON after writing and reading it: a double without a fraction is a whole number."""
    if isinstance(value, float):
        return whole(value)
    if isinstance(value, dict):
        return {key: as_written(member) for key, member in value.items()}
    if isinstance(value, list):
        return [as_written(member) for member in value]
    return value


def string_map(value: Mapping[Value, Value], position: int) -> dict[str, str]:
    """A map of texts to texts; raises `CelError` naming the argument by its position."""
    with Reraise(f"invalid arg {position}: ", CelError, CelError):
        return {text_of(key): text_of(member) for key, member in value.items()}
