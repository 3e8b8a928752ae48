"""CEL values in the notation of the recorded answers."""

import base64
import json
import math
from typing import Any, Final

from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import OptionalValue, Struct, Uint, Value, type_of

_GO_STRUCTS: Final = {
    "user.ServiceAccount": ("{{Name:{} Namespace:{}}}", ("Name", "Namespace")),
    "schema.GroupVersionResource": ("{}/{}, Resource={}", ("Group", "Version", "Resource")),
    "JSONPatch": ("&{{Op:{} From:{} Path:{} Val:{}}}", ("op", "from", "path", "value")),
}
"""Types that are structs in Go, with their fields in Go's order."""
_MISSING: Final = {"value": "<nil>"}
"""How Go prints fields that are not set, other than as an empty text."""


def recorded_value(value: Value) -> tuple[Any, str]:
    """A value and the name of its type, as the recorded files have them."""
    return _encode(value), type_of(value).name


def _encode(value: Value) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Uint):
        return {"$uint": int(value)}
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return _encode_double(value)
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return _encode_map(value)
    return _encode_named(value)


def _encode_double(value: float) -> Any:
    if math.isnan(value):
        return {"$double": "NaN"}
    if math.isinf(value):
        return {"$double": "+Inf" if value > 0 else "-Inf"}
    return {"$double": value} if value.is_integer() else value


def _encode_map(value: dict[Any, Value]) -> Any:
    if all(isinstance(key, str) for key in value):
        return {key: _encode(value[key]) for key in sorted(value)}
    pairs = [
        (key if isinstance(key, str) else _text(_encode(key)), [_encode(key), _encode(item)])
        for key, item in value.items()
    ]
    return {"$map": [pair for _, pair in sorted(pairs, key=lambda pair: pair[0])]}


def _text(encoded: Any) -> str:
    return json.dumps(encoded)


def _encode_named(value: Value) -> Any:
    if isinstance(value, OptionalValue):
        if not value.present:
            return {"$type": "optional", "str": "none"}
        return {"$type": "optional", "str": "of", "value": _encode(value.value)}
    if isinstance(value, Type):
        return {"$type": "type", "str": value.name}
    if isinstance(value, Timestamp):
        return {"$type": "timestamp", "str": str(value)}
    if isinstance(value, Duration):
        return {"$type": "duration", "str": str(value)}
    if isinstance(value, Struct):
        return {"$type": value.type.name, "str": _struct_text(value)}
    return {"$type": type_of(value).name, "str": str(value)}


def _struct_text(value: Struct) -> str:
    """An object as Go prints the value that holds it."""
    known = _GO_STRUCTS.get(value.type.name)
    if known is None:
        return json.dumps(_plain(value), separators=(",", ":"), sort_keys=True)
    pattern, names = known
    return pattern.format(*(value.fields.get(name, _MISSING.get(name, "")) for name in names))


def _plain(value: Value) -> Any:
    if isinstance(value, Struct):
        return {name: _plain(item) for name, item in value.fields.items()}
    if isinstance(value, OptionalValue):
        return _plain(value.value)
    return [_plain(item) for item in value] if isinstance(value, list) else value
