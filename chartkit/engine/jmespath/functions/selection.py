"""Lists and objects: what they hold, put together, turned around and sorted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.declaration import (
    ExpressionReference,
    ItemsList,
    deep_equal,
    function,
    functions,
    is_number,
)
from chartkit.engine.jmespath.expression import (
    CrashError,
    FunctionError,
    JMESPathError,
    function_error,
)
from chartkit.go.fmt import format_float, format_float32
from chartkit.go.strconv import Int64, truncate_to_int64
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
    mismatch = f"interface {{}} is {_GO_TYPES[value.__class__]}, not {_GO_TYPES[wanted]}"
    return CrashError(f"interface conversion: {mismatch}")


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


@function("contains(array|string, any) bool")
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


@function("merge(object...) object")
def merge(*objects: Json) -> Body:
    merged: Body = {}
    for value in objects:
        if not isinstance(value, dict):
            raise _wrong_go_type(value, dict)
        merged.update(value)
    return merged


_TYPE_NAMES = {
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    bool: "boolean",
    type(None): "null",
}


@function("type(any) string")
def type_(value: Json) -> str:
    name = _TYPE_NAMES.get(value.__class__)
    if name is None:
        raise FunctionError("unknown type")
    return name


@function("join(string, array[string]) string")
def join(budget: Budget, separator: str, texts: list[str]) -> str:
    budget.take(sum(map(len, texts)) + len(separator) * len(texts), "join()")
    return separator.join(texts)


@function("lookup(object|array, string|number) any")
def lookup(where: Json, key: Json) -> Json:
    if where.__class__ is dict:
        if not isinstance(key, str):
            raise function_error("lookup", "argument #2 is not of type String")
        return where.get(key)
    if where.__class__ is ItemsList:
        raise function_error("lookup", "argument #1 is not of type Object or Array")
    if isinstance(key, str):
        raise function_error("lookup", "argument #2 is not of type Number")
    text = format_float(key)
    if not float(key).is_integer():
        message = f"expected an integer number but got: {text}"
        raise function_error("lookup", f"argument #2: {message}")
    index = truncate_to_int64(key)
    if float(index) != key:
        message = f"number is outside the range of integer numbers: {text}"
        raise function_error("lookup", f"argument #2: {message}")
    return where[index] if 0 <= index < len(where) else None


@function("items(object|array, string, string) array")
def items(budget: Budget, value: Json, key_name: str, value_name: str) -> ItemsList:
    if value.__class__ is ItemsList:
        raise function_error("items", "argument #1 is not of type Object or Array")
    budget.spend(3 * len(value), "items()")
    pairs = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
    return ItemsList({key_name: key, value_name: member} for key, member in pairs)


@function("object_from_lists(array, array) object")
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


@function("label_match(object, object) bool")
def label_match(budget: Budget, wanted: Body, labels: Body) -> bool:
    return all(name in labels and deep_equal(labels[name], wanted[name], budget) for name in wanted)


def _best_by(
    budget: Budget, members: list[Json], expression: ExpressionReference, best: Callable[..., Json]
) -> Json:
    elements = plain_list(members)
    if len(elements) < 2:
        return elements[0] if elements else None
    wanted = _kind(expression.lenient(elements[0], budget))
    keys: list[Json] = []
    for key in expression.found(elements, budget):
        if not wanted(key):
            name = "string" if isinstance(keys[0], str) else "number"
            raise FunctionError(f"invalid type, must be {name}")
        keys.append(key)
    return elements[best(range(len(elements)), key=keys.__getitem__)]


def _kind(key: Json) -> Callable[[Json], bool]:
    if is_number(key):
        return is_number
    if isinstance(key, str):
        return lambda value: isinstance(value, str)
    raise FunctionError("invalid type, must be number of string")


@function("sort_by(array, expref) array")
def sort_by(budget: Budget, members: list[Json], expression: ExpressionReference) -> list[Json]:
    elements = plain_list(members)
    if len(elements) < 2:
        return elements
    wanted = _kind(expression.lenient(elements[0], budget))
    budget.spend(len(elements) * expression.node.weight, "sort_by()")
    return sorted(elements, key=partial(_sort_key, budget, expression, wanted))


def _sort_key(
    budget: Budget, expression: ExpressionReference, wanted: Callable[[Json], bool], element: Json
) -> Json:
    try:
        key = expression.strict(element, budget)
    except CrashError:
        raise
    except JMESPathError:
        key = None
    if not wanted(key):
        raise FunctionError("error in sort_by comparison")
    return key


FUNCTIONS = functions(
    {
        "length(string|array|object) number": len,
        "keys(object) array": list,
        "values(object) array": lambda value: list(value.values()),
        "reverse(array|string) array|string": lambda value: (
            value[::-1] if isinstance(value, str) else plain_list(value)[::-1]
        ),
        "to_array(any) array": lambda value: value if value.__class__ is list else [value],
        "not_null(any...) any": lambda *given: next(
            (value for value in given if value is not None), None
        ),
        "max(array[number]|array[string]) any": partial(max, default=None),
        "min(array[number]|array[string]) any": partial(min, default=None),
        "sort(array[string]|array[number]) array": sorted,
        "map(expref, array) array": lambda budget, expression, members: list(
            expression.found(plain_list(members), budget)
        ),
        "max_by(array, expref) any": lambda budget, members, expression: _best_by(
            budget, members, expression, max
        ),
        "min_by(array, expref) any": lambda budget, members, expression: _best_by(
            budget, members, expression, min
        ),
    }
)
