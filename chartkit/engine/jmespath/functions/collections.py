"""Lists and objects: what they hold, put together, turned around."""

from __future__ import annotations

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import (
    ANY,
    ARRAY,
    ARRAY_OF_STRINGS,
    BOOLEAN,
    NUMBER,
    OBJECT,
    STRING,
    ExpressionReference,
    ItemsList,
    deep_equal,
    function,
)
from chartkit.engine.jmespath.errors import CrashError, FunctionError, function_error
from chartkit.go.fmt import format_float, format_float32
from chartkit.go.int64 import Int64
from chartkit.go.strconv import truncate_to_int64
from chartkit.model import Body, Json

_GO_TYPES = {
    str: "string",
    int: "float64",
    float: "float64",
    bool: "bool",
    Int64: "int64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    ItemsList: "[]map[string]interface {}",
    ExpressionReference: "jmespath.expRef",
    type(None): "nil",
}


def plain_list(value: Json) -> list[Json]:
    """The list, where it is one that Kyverno does not crash on."""
    if value.__class__ is ItemsList:
        raise _wrong_go_type(value, list)
    members: list[Json] = value
    return members


def _wrong_go_type(value: Json, wanted: type) -> CrashError:
    found = f"interface {{}} is {_GO_TYPES[value.__class__]}, not {_GO_TYPES[wanted]}"
    return CrashError(f"interface conversion: {found}")


def as_text(value: Json) -> str | None:
    """A scalar as Kyverno's functions turn it into text; None for what they refuse.

    Numbers go through float32.
    """
    kind = value.__class__
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    return format_float32(value) if kind in (int, float) else None


@function(
    "length",
    STRING | ARRAY | OBJECT,
    returns=NUMBER,
    doc="The number of characters, elements or members.",
    example="length(request.object.spec.containers)",
)
def length(value: Json) -> int:
    return len(value)


@function(
    "contains",
    ARRAY | STRING,
    ANY,
    returns=BOOLEAN,
    counts=True,
    doc="Whether a list holds a scalar, or a text another text.",
    example="contains(request.object.metadata.finalizers, 'kyverno.io/cleanup')",
)
def contains(budget: Budget, where: Json, what: Json) -> bool:
    if isinstance(where, str):
        return isinstance(what, str) and what in where
    kind = what.__class__
    for element in plain_list(where):
        if element.__class__ is kind and kind in (list, dict, ItemsList, ExpressionReference):
            raise CrashError(f"runtime error: comparing uncomparable type {_GO_TYPES[kind]}")
        if deep_equal(element, what, budget):
            return True
    return False


@function(
    "keys",
    OBJECT,
    returns=ARRAY,
    doc="The names of an object's members, in the order they stand in.",
    example="keys(request.object.metadata.labels)",
)
def keys(value: Body) -> list[Json]:
    return list(value)


@function(
    "values",
    OBJECT,
    returns=ARRAY,
    doc="The values of an object's members, in the order they stand in.",
    example="values(request.object.metadata.labels)",
)
def values(value: Body) -> list[Json]:
    return list(value.values())


@function(
    "merge",
    OBJECT,
    returns=OBJECT,
    variadic=True,
    doc="One object of several; later members take the place of earlier ones.",
    example='merge(request.object.metadata.labels, `{"team": "a"}`)',
)
def merge(*objects: Json) -> Body:
    merged: Body = {}
    for value in objects:
        if not isinstance(value, dict):
            raise _wrong_go_type(value, dict)
        merged.update(value)
    return merged


@function(
    "reverse",
    ARRAY | STRING,
    returns=ARRAY | STRING,
    doc="A list or text from its end to its beginning.",
    example="reverse(`[1, 2, 3]`)",
)
def reverse(value: Json) -> Json:
    return value[::-1] if isinstance(value, str) else plain_list(value)[::-1]


@function(
    "to_array",
    ANY,
    returns=ARRAY,
    doc="A list as it is; anything else as a list of one.",
    example="to_array('a')",
)
def to_array(value: Json) -> list[Json]:
    return value if value.__class__ is list else [value]


@function(
    "not_null",
    ANY,
    returns=ANY,
    variadic=True,
    doc="The first argument that is not null.",
    example="not_null(request.object.metadata.namespace, 'default')",
)
def not_null(*given: Json) -> Json:
    return next((value for value in given if value is not None), None)


_TYPE_NAMES = {
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    bool: "boolean",
    type(None): "null",
}


@function(
    "type",
    ANY,
    returns=STRING,
    doc="The name of a value's type.",
    example="type(request.object.spec)",
)
def type_(value: Json) -> str:
    name = _TYPE_NAMES.get(value.__class__)
    if name is None:
        raise FunctionError("unknown type")
    return name


@function(
    "join",
    STRING,
    ARRAY_OF_STRINGS,
    returns=STRING,
    counts=True,
    doc="The texts of a list put together, with another text between them.",
    example="join(', ', keys(request.object.metadata.labels))",
)
def join(budget: Budget, separator: str, texts: list[str]) -> str:
    budget.take(sum(map(len, texts)) + len(separator) * len(texts), "join()")
    return separator.join(texts)


@function(
    "lookup",
    OBJECT | ARRAY,
    STRING | NUMBER,
    returns=ANY,
    doc="The member of an object or the element of a list; null where there is none.",
    example="lookup(request.object.metadata.labels, 'app.kubernetes.io/name')",
)
def lookup(where: Json, key: Json) -> Json:
    if where.__class__ is dict:
        if not isinstance(key, str):
            raise function_error("lookup", "argument #2 is not of type String")
        return where.get(key)
    if where.__class__ is ItemsList:
        raise function_error("lookup", "argument #1 is not of type Object or Array")
    if isinstance(key, str):
        raise function_error("lookup", "argument #2 is not of type Number")
    index = _whole(key)
    return where[index] if 0 <= index < len(where) else None


def _whole(number: float) -> int:
    text = format_float(number)
    if not float(number).is_integer():
        message = f"expected an integer number but got: {text}"
        raise function_error("lookup", f"argument #2: {message}")
    whole = truncate_to_int64(number)
    if float(whole) != number:
        message = f"number is outside the range of integer numbers: {text}"
        raise function_error("lookup", f"argument #2: {message}")
    return whole


@function(
    "items",
    OBJECT | ARRAY,
    STRING,
    STRING,
    returns=ARRAY,
    counts=True,
    doc="The members of an object or list as a list of objects with a key and a value.",
    example="items(request.object.metadata.labels, 'key', 'value')",
)
def items(budget: Budget, value: Json, key_name: str, value_name: str) -> ItemsList:
    if value.__class__ is ItemsList:
        raise function_error("items", "argument #1 is not of type Object or Array")
    budget.spend(3 * len(value), "items()")
    pairs = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
    return ItemsList({key_name: key, value_name: member} for key, member in pairs)


@function(
    "object_from_lists",
    ARRAY,
    ARRAY,
    returns=OBJECT,
    doc="An object with its names from one list and its values from another.",
    example='object_from_lists(`["a", "b"]`, `[1, 2]`)',
)
def object_from_lists(names: list[Json], members: list[Json]) -> Body:
    for index, given in enumerate((names, members), 1):
        if given.__class__ is ItemsList:
            raise function_error("object_from_lists", f"argument #{index} is not of type Array")
    made: Body = {}
    for index, name in enumerate(names):
        text = as_text(name)
        if text is None:
            message = "argument #1 is not of type StringArray"
            raise function_error("object_from_lists", message)
        made[text] = members[index] if index < len(members) else None
    return made


@function(
    "label_match",
    OBJECT,
    OBJECT,
    returns=BOOLEAN,
    counts=True,
    doc="Whether the second object has every member of the first, with the same value.",
    example='label_match(`{"app": "web"}`, request.object.metadata.labels)',
)
def label_match(budget: Budget, wanted: Body, labels: Body) -> bool:
    return all(name in labels and deep_equal(labels[name], wanted[name], budget) for name in wanted)
