"""`kyverno.transform`: two lists of objects made into one map."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Library, declared
from chartkit.engine.cel.errors import CelError, Stopped
from chartkit.engine.cel.library.kyverno.spellings import prefixed
from chartkit.engine.cel.library.printing import NO_TYPE, content
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import OptionalValue, Uint, Value

_GO_TYPES: Final[dict[type, str]] = {
    bool: "bool",
    bytes: "[]uint8",
    float: "float64",
    int: "int64",
    list: "[]interface {}",
    str: "string",
    type(None): "structpb.NullValue",
    Uint: "uint64",
}
_NO_VALUE_OBJECT: Final = "object cannot be handled as a map string to any in the value object list"


@prefixed(
    "list_of_object_to_map: "
    "transform.listObjToMap(list(dyn), list(dyn), string, string) -> map(dyn, dyn)"
)
def list_of_objects_to_map(
    keys: list[Value], values: list[Value], key_name: str, value_name: str
) -> dict[Value, Value]:
    if len(keys) != len(values):
        lengths = f"list1: {len(keys)}, list2: {len(values)}"
        raise CelError(f"listObjToMap must take lists of equal length. {lengths}")
    keys, values = [_native(each) for each in keys], [_native(value) for value in values]
    found: dict[Value, Value] = {}
    for key_object, value_object in zip(keys, values, strict=True):
        key = _fields(key_object, None).get(key_name)
        if not isinstance(key, str):
            message = "the passed key name cannot be handled as a string in the key object list"
            raise CelError(message)
        found[key] = _fields(value_object, _NO_VALUE_OBJECT).get(value_name)
    return found


def _native(value: Value) -> Value:
    """The value with every optional in it replaced by what it holds; raises `CelError`."""
    if isinstance(value, OptionalValue):
        return _native(content(value))
    if isinstance(value, Type):
        raise CelError(NO_TYPE)
    if isinstance(value, list):
        return [_native(member) for member in value]
    if isinstance(value, dict):
        return {_native_key(key): _native(member) for key, member in value.items()}
    return value


def _native_key(key: Value) -> Value:
    native = _native(key)
    if isinstance(native, list | dict):
        kind = "map[interface {}]interface {}" if isinstance(native, dict) else "[]interface {}"
        raise Stopped(f"internal error: runtime error: hash of unhashable type {kind}")
    return native


def _fields(value: Value, problem: str | None) -> dict[Value, Value]:
    if not isinstance(value, dict):
        kind = _GO_TYPES.get(value.__class__, value.__class__.__name__)
        wanted = "map[interface {}]interface {}"
        raise Stopped(
            f"internal error: interface conversion: interface {{}} is {kind}, not {wanted}"
        )
    for key in value:
        if not isinstance(key, str):
            kind = _GO_TYPES.get(key.__class__, key.__class__.__name__)
            raise CelError(problem or f"failed to convert key to a string, {kind}")
    return value


LIBRARY = Library("kyverno.transform", overloads=declared(globals()))
