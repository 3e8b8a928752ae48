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


@function("length(string|array|object) number", "length(request.object.spec.containers)")
def length(value: Json) -> int:
    """The number of characters, elements or members."""
    return len(value)


@function(
    "contains(array|string, any) bool",
    "contains(request.object.metadata.finalizers, 'kyverno.io/cleanup')",
)
def contains(budget: Budget, where: Json, what: Json) -> bool:
    """Report whether a list holds a scalar, or a text another text."""
    if isinstance(where, str):
        return isinstance(what, str) and what in where
    kind = what.__class__
    for element in plain_list(where):
        if element.__class__ is kind and kind in (list, dict, ItemsList, ExpressionReference):
            raise CrashError(f"runtime error: comparing uncomparable type {_GO_TYPES[kind]}")
        if deep_equal(element, what, budget):
            return True
    return False


@function("keys(object) array", "keys(request.object.metadata.labels)")
def keys(value: Body) -> list[Json]:
    """The names of an object's members, in the order they stand in."""
    return list(value)


@function("values(object) array", "values(request.object.metadata.labels)")
def values(value: Body) -> list[Json]:
    """The values of an object's members, in the order they stand in."""
    return list(value.values())


@function("merge(object...) object", 'merge(request.object.metadata.labels, `{"team": "a"}`)')
def merge(*objects: Json) -> Body:
    """One object of several; later members take the place of earlier ones."""
    merged: Body = {}
    for value in objects:
        if not isinstance(value, dict):
            raise _wrong_go_type(value, dict)
        merged.update(value)
    return merged


@function("reverse(array|string) array|string", "reverse(`[1, 2, 3]`)")
def reverse(value: Json) -> Json:
    """A list or text from its end to its beginning."""
    return value[::-1] if isinstance(value, str) else plain_list(value)[::-1]


@function("to_array(any) array", "to_array('a')")
def to_array(value: Json) -> list[Json]:
    """A list as it is; anything else as a list of one."""
    return value if value.__class__ is list else [value]


@function("not_null(any...) any", "not_null(request.object.metadata.namespace, 'default')")
def not_null(*given: Json) -> Json:
    """The first argument that is not null."""
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


@function("type(any) string", "type(request.object.spec)")
def type_(value: Json) -> str:
    """The name of a value's type."""
    name = _TYPE_NAMES.get(value.__class__)
    if name is None:
        raise FunctionError("unknown type")
    return name


@function("join(string, array[string]) string", "join(', ', keys(request.object.metadata.labels))")
def join(budget: Budget, separator: str, texts: list[str]) -> str:
    """The texts of a list put together, with another text between them."""
    budget.take(sum(map(len, texts)) + len(separator) * len(texts), "join()")
    return separator.join(texts)


@function(
    "lookup(object|array, string|number) any",
    "lookup(request.object.metadata.labels, 'app.kubernetes.io/name')",
)
def lookup(where: Json, key: Json) -> Json:
    """The member of an object or the element of a list; null where there is none."""
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


@function(
    "items(object|array, string, string) array",
    "items(request.object.metadata.labels, 'key', 'value')",
)
def items(budget: Budget, value: Json, key_name: str, value_name: str) -> ItemsList:
    """The members of an object or list as a list of objects with a key and a value."""
    if value.__class__ is ItemsList:
        raise function_error("items", "argument #1 is not of type Object or Array")
    budget.spend(3 * len(value), "items()")
    pairs = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
    return ItemsList({key_name: key, value_name: member} for key, member in pairs)


@function("object_from_lists(array, array) object", 'object_from_lists(`["a", "b"]`, `[1, 2]`)')
def object_from_lists(names: list[Json], members: list[Json]) -> Body:
    """An object with its names from one list and its values from another."""
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
    "label_match(object, object) bool",
    'label_match(`{"app": "web"}`, request.object.metadata.labels)',
)
def label_match(budget: Budget, wanted: Body, labels: Body) -> bool:
    """Report whether the second object has every member of the first, with the same value."""
    return all(name in labels and deep_equal(labels[name], wanted[name], budget) for name in wanted)


@function("max(array[number]|array[string]) any", "max(`[3, 1, 2]`)")
def max_(members: list[Json]) -> Json:
    """The greatest of a list of numbers or of texts; null for an empty list."""
    return max(members, default=None)


@function("min(array[number]|array[string]) any", "min(`[3, 1, 2]`)")
def min_(members: list[Json]) -> Json:
    """The least of a list of numbers or of texts; null for an empty list."""
    return min(members, default=None)


@function("sort(array[string]|array[number]) array", "sort(keys(request.object.metadata.labels))")
def sort(members: list[Json]) -> list[Json]:
    """A list of numbers or of texts in rising order."""
    return sorted(members)


@function("map(expref, array) array", "map(&name, request.object.spec.containers)")
def map_(budget: Budget, expression: ExpressionReference, members: list[Json]) -> list[Json]:
    """The result of an expression for each element; unlike a projection it keeps nulls."""
    return list(expression.found(plain_list(members), budget))


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


@function("max_by(array, expref) any", "max_by(request.object.spec.containers, &length(name))")
def max_by(budget: Budget, members: list[Json], expression: ExpressionReference) -> Json:
    """The element for which an expression finds the greatest number or text."""
    return _best_by(budget, members, expression, partial(max))


@function("min_by(array, expref) any", "min_by(request.object.spec.containers, &length(name))")
def min_by(budget: Budget, members: list[Json], expression: ExpressionReference) -> Json:
    """The element for which an expression finds the least number or text."""
    return _best_by(budget, members, expression, partial(min))


@function("sort_by(array, expref) array", "sort_by(request.object.spec.containers, &name)")
def sort_by(budget: Budget, members: list[Json], expression: ExpressionReference) -> list[Json]:
    """A list in the rising order of what an expression finds in each element."""
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
