"""`kyverno.json`: JSON read and written."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from chartkit.engine.cel.declarations import Library, declared, overload
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.library.kyverno.contexts import Context, context_variable
from chartkit.engine.cel.library.natives import content, doubles, no_conversion, text_of
from chartkit.engine.cel.library.sizes import bounded_value
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Opaque, OptionalValue, Struct, Uint, Value
from chartkit.go.fmt import UnsupportedValueError, go_json
from chartkit.go.int64 import Int64
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.model import Json

_VARIABLES = context_variable("json", "json.Json")
_CHARACTERS: Final = 3
"""Characters that are as much work as a member, beside those of every text that is made."""
_UNSUPPORTED: Final = "json: unsupported type: "
_NO_JSON: Final = {"kubernetes.NamedFormat": "func(string) []string", "kubernetes.URL": "*url.URL"}
_GO_KEYS: Final = {int: "int64", Uint: "uint64", bool: "bool", float: "float64"}


@overload(
    "unmarshal_string_dyn: json.Json.unmarshal(dyn) -> dyn",
    "The value of a JSON text; its numbers are doubles.",
    "json.unmarshal('{\"replicas\": 2}').replicas  // 2.0",
    "json.unmarshal('')  // error: unexpected end of JSON input",
)
def unmarshal(_json: Context, text: Value) -> Value:
    try:
        return doubles(parse_json(text_of(text)))
    except JsonError as error:
        raise CelError(str(error)) from None


def _written_out(_args: Sequence[Value], result: Value) -> int:
    return len(result) // _CHARACTERS if isinstance(result, str) else 0


@overload(
    "marshal_dyn_string: json.Json.marshal(dyn) -> string",
    "The value as JSON, keys sorted, `<`, `>` and `&` escaped; a duration in nanoseconds.",
    "json.marshal({'b': {'c': 1}, 'a': {'d': 2}})  // '{\"a\":{\"d\":2},\"b\":{\"c\":1}}'",
    "json.marshal(duration('1s'))  // '1000000000'",
    work=_written_out,
)
def marshal(_json: Context, value: Value) -> str:
    bounded_value(value)
    try:
        return go_json(_outermost(value))
    except UnsupportedValueError as error:
        raise CelError(str(error)) from None


def _outermost(value: Value) -> Json:
    """JSON of a value that is in no list or map; some types have JSON there alone."""
    if isinstance(value, OptionalValue):
        return _outermost(value.value) if value.present else None
    if isinstance(value, Type):
        return value.name
    if isinstance(value, Struct):
        return _struct(value)
    if isinstance(value, Opaque) and value.cel_type.name in _NO_JSON:
        raise CelError(_UNSUPPORTED + _NO_JSON[value.cel_type.name])
    try:
        native = _named(value) if isinstance(value, dict) else _native(value)
    except CelError as error:
        if not isinstance(value, dict | list):
            raise
        container = "map to native map" if isinstance(value, dict) else "list to native slice"
        text = f"json: failed to convert CEL {container}: {error.message}"
        raise CelError(text) from None
    _check_keys(native)
    return native


def _named(value: dict[Value, Value]) -> Json:
    return {text_of(key): _native(member) for key, member in value.items()}


def _native(value: Value) -> Json:
    """The value as Go's own types have it; maps in it keep keys that are no texts."""
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        return Int64(value)
    if isinstance(value, dict):
        # The keys are checked when all is converted, as in Go.
        return {_key(key): _native(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_native(member) for member in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Duration):
        return Int64(value.nanoseconds)
    if isinstance(value, OptionalValue):
        return _native(content(value))
    if isinstance(value, Timestamp):
        return str(value)
    if isinstance(value, Opaque) and value.cel_type.name not in _NO_JSON:
        return text_of(value)
    raise no_conversion(value, "interface {}")


def _key(value: Value) -> Any:
    return value if isinstance(value, int | float) else _native(value)


def _check_keys(native: Json) -> None:
    """Raise `CelError` for a key that is no text."""
    if isinstance(native, list):
        for member in native:
            _check_keys(member)
    elif isinstance(native, dict):
        for key, member in native.items():
            if not isinstance(key, str):
                name = _GO_KEYS.get(key.__class__, "int64")
                raise CelError(f"json: unsupported map key type {name} (original key type: {name})")
            _check_keys(member)


def _struct(value: Struct) -> Json:
    if value.type.name == "user.ServiceAccount":
        return {key.lower(): text_of(text) for key, text in value.fields.items()}
    if value.type.name.partition(".")[0] != "Object":
        raise no_conversion(value, "interface {}")
    return {key: _outermost(member) for key, member in value.fields.items()}


LIBRARY = Library("kyverno.json", overloads=declared(globals()), variables=_VARIABLES, doc="JSON.")
