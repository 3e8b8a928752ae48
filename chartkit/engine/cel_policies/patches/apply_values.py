"""CEL values as the JSON of objects: whole numbers stay whole.

What Kubernetes has no JSON for in an `Object{…}`, null among it, is handed on as a `Native`, which
no schema accepts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel.library.natives import text_of
from chartkit.engine.cel.times import Duration, Timestamp
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import OptionalValue, Struct, Uint, Value, type_of
from chartkit.go.fmt import go_json, go_sprint
from chartkit.go.int64 import mark_literals
from chartkit.model import Body, Json


@dataclass(frozen=True, slots=True)
class Native:
    """A value that objects cannot hold: Go's name of its type, and its text by `%v` and `%#v`."""

    go_type: str
    text: str
    syntax: str


NIL_LIST: Final[list[Json]] = []
"""An empty list of an `Object{…}`, told by its identity: Go has a nil slice there, a list like any
other to all but JSON, which writes it as null."""

_NULL: Final = Native("structpb.NullValue", "NULL_VALUE", "0")
_GO_TYPES: Final = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def plain_object(value: Struct) -> Body:
    """The fields of an `Object{…}`; raises `CelError` for a map whose keys are no texts."""
    return {
        name: _NULL if member is None else plain(member) for name, member in value.fields.items()
    }


def plain(value: Value) -> Json:
    """A value as an object holds it; raises `CelError` for a map whose keys are no texts."""
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, list):
        return [plain(member) for member in value] if value else NIL_LIST
    if isinstance(value, dict):
        return {text_of(key): plain(member) for key, member in value.items()}
    if isinstance(value, Struct):
        return plain_object(value)
    if isinstance(value, OptionalValue):
        return plain(value.value) if value.present else _NULL
    if isinstance(value, Type):
        return value.name
    return _number_or_native(value)


def _number_or_native(value: Value) -> Json:
    if isinstance(value, Uint):
        return Native("uint64", str(int(value)), hex(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, bytes):
        numbers = ", ".join(map(hex, value))
        return Native("[]uint8", f"[{' '.join(map(str, value))}]", f"[]uint8{{{numbers}}}")
    if isinstance(value, Timestamp):
        text = str(value)
        return Native("time.Time", text, text)
    if isinstance(value, Duration):
        return Native("time.Duration", str(value), str(value.nanoseconds))
    name = type_of(value).name
    return Native(name, str(value), f"({name})({value})")


def encoded(value: Json) -> Json:
    """The value as JSON has it once Go has written it; the very same where nothing differs."""
    if value is NIL_LIST:
        return None
    if isinstance(value, dict):
        members = {key: encoded(member) for key, member in value.items()}
        return members if any(members[key] is not value[key] for key in value) else value
    if isinstance(value, list):
        elements = [encoded(member) for member in value]
        changed = any(new is not old for new, old in zip(elements, value, strict=True))
        return elements if changed else value
    return value


def go_type(value: Json) -> str:
    """Go's name of a value's type: `%T`."""
    if isinstance(value, Native):
        return value.go_type
    return _GO_TYPES.get(value.__class__, "<nil>")


def go_text(value: Json) -> str:
    """Go's text of a value: `%v`."""
    if isinstance(value, Native):
        return value.text
    return go_sprint(mark_literals([value]))[1:-1]


def go_syntax(value: Json) -> str:
    """Go's text of a value as it would be written in a program: `%#v`."""
    if isinstance(value, Native):
        return value.syntax
    if isinstance(value, dict):
        members = (f"{go_json(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"{go_type(value)}{{{', '.join(members)}}}"
    if isinstance(value, list):
        return f"{go_type(value)}{{{', '.join(map(go_syntax, value))}}}"
    return "interface {}(nil)" if value is None else go_json(value)
