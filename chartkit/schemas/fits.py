"""A quick answer to the question if a value fits a JSON Schema, in front of `jsonschema`.

A schema becomes functions once, which values are given to. Keywords of JSON Schema that are rare
here have none. With those, and with anything out of the ordinary, the answer is no: `jsonschema`
decides, and says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final

from chartkit.model import Body, Json

_Test = Callable[[Json], bool]
_UNHANDLED: Final = frozenset(
    (
        *("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "contains", "dependentRequired"),
        *("dependentSchemas", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"),
        *("prefixItems", "unevaluatedItems", "unevaluatedProperties"),
    )
)
_LARGEST: Final = 64
"""The schemas whose functions are kept."""


class _UncertainError(Exception):
    """A schema or value about which only `jsonschema` says anything."""


class _Key:
    """A schema as a key: the same object, and no equal one."""

    __slots__ = ("schema",)

    def __init__(self, schema: Mapping[str, Json]) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.schema is self.schema


def fits(value: Json, schema: Mapping[str, Json], ignore: frozenset[str] = frozenset()) -> bool:
    """Report whether it is certain that `jsonschema` (draft 2020-12) finds nothing wrong.

    schema: not changed as long as it is in use; ignore: keywords whose violations do not count.
    """
    try:
        return _compiled(_Key(schema), ignore)(value)
    except (_UncertainError, RecursionError, re.error, AttributeError, KeyError, TypeError):
        # For a schema that is none, `jsonschema` has its own answer.
        return False


@lru_cache(maxsize=_LARGEST)
def _compiled(key: _Key, ignore: frozenset[str]) -> _Test:
    return _Compiler(key.schema).test(key.schema, ignore)


class _Compiler:
    """Makes functions of a schema's parts; each answers exactly, or raises _UncertainError."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        self._known: dict[tuple[str, frozenset[str]], _Test] = {}

    def test(self, schema: Json, ignore: Collection[str] = frozenset()) -> _Test:
        """Return the function of a part; ignore: keywords that do not count there or below."""
        ignored = frozenset(ignore)
        if isinstance(schema, bool):
            return lambda _: schema
        if not isinstance(schema, dict) or self._is_unhandled(schema):
            return _uncertain
        tests = [each for each in self._tests(schema, ignored) if each is not None]
        return lambda value: all(test(value) for test in tests)

    def _tests(self, schema: Body, ignore: frozenset[str]) -> Iterator[_Test | None]:
        for keyword, make in _KEYWORDS.items():
            if keyword in schema and keyword not in ignore:
                yield make(self, schema, ignore)

    def reference(self, schema: Body, ignore: frozenset[str]) -> _Test:
        """Return the function of `$ref`, which looks for its part once it is asked."""
        pointer = schema["$ref"]
        key = str(pointer), ignore

        def test(value: Json) -> bool:
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = self.test(self._part(pointer), ignore)
            return known(value)

        return test

    def _part(self, pointer: Json) -> Json:
        steps = pointer.split("/") if isinstance(pointer, str) else []
        part: Json = self._root
        if steps[:1] != ["#"] or "%" in pointer or "~" in pointer:
            raise _UncertainError
        for step in steps[1:]:
            if not isinstance(part, dict) or step not in part or self._is_unhandled(part):
                raise _UncertainError
            part = part[step]
        return part

    def _is_unhandled(self, schema: Body) -> bool:
        # The root's own `$id` is nothing that a reference to a part of it needs.
        return not _UNHANDLED.isdisjoint(schema) and (
            schema is not self._root or _UNHANDLED.intersection(schema) != {"$id"}
        )


def _uncertain(_: Json) -> bool:
    raise _UncertainError


def _type(_: _Compiler, schema: Body, __: frozenset[str]) -> _Test:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    tests = [
        _TYPES.get(kind, _uncertain) if isinstance(kind, str) else _uncertain for kind in kinds
    ]
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _is_integer(value: Json) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: Final[Mapping[str, _Test]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": _is_integer,
    "number": _is_number,
}


def _enum(_: _Compiler, schema: Body, __: frozenset[str]) -> _Test:
    return _equals_any(schema["enum"])


def _const(_: _Compiler, schema: Body, __: frozenset[str]) -> _Test:
    return _equals_any([schema["const"]])


def _equals_any(allowed: Json) -> _Test:
    if not isinstance(allowed, list):
        return _uncertain

    numbers = [each for each in allowed if _is_number(each)]

    def test(value: Json) -> bool:
        if _is_number(value):
            return value in numbers
        if not (value is None or isinstance(value, (str, bool))):
            raise _UncertainError
        return any(type(each) is type(value) and each == value for each in allowed)

    return test


def _pattern(_: _Compiler, schema: Body, __: frozenset[str]) -> _Test:
    search = re.compile(schema["pattern"]).search
    return lambda value: not isinstance(value, str) or search(value) is not None


def _properties(compiler: _Compiler, schema: Body, ignore: frozenset[str]) -> _Test:
    tests = {name: compiler.test(each, ignore) for name, each in schema["properties"].items()}
    get = tests.get

    def test(value: Json) -> bool:
        if not isinstance(value, dict):
            return True
        for name, each in value.items():
            known = get(name)
            if known is not None and not known(each):
                return False
        return True

    return test


def _pattern_properties(compiler: _Compiler, schema: Body, ignore: frozenset[str]) -> _Test:
    tests = [
        (re.compile(pattern).search, compiler.test(each, ignore))
        for pattern, each in schema["patternProperties"].items()
    ]
    return lambda value: (
        not isinstance(value, dict)
        or all(
            not search(name) or test(each) for search, test in tests for name, each in value.items()
        )
    )


def _additional(compiler: _Compiler, schema: Body, ignore: frozenset[str]) -> _Test:
    test = compiler.test(schema["additionalProperties"], ignore)
    known = schema.get("properties", {})
    searches = [re.compile(each).search for each in schema.get("patternProperties", {})]
    return lambda value: (
        not isinstance(value, dict)
        or all(
            name in known or any(search(name) for search in searches) or test(each)
            for name, each in value.items()
        )
    )


def _property_names(compiler: _Compiler, schema: Body, ignore: frozenset[str]) -> _Test:
    test = compiler.test(schema["propertyNames"], ignore)
    return lambda value: not isinstance(value, dict) or all(map(test, value))


def _required(_: _Compiler, schema: Body, __: frozenset[str]) -> _Test:
    names = schema["required"]
    return lambda value: not isinstance(value, dict) or all(name in value for name in names)


def _items(compiler: _Compiler, schema: Body, ignore: frozenset[str]) -> _Test:
    test = compiler.test(schema["items"], ignore)
    return lambda value: not isinstance(value, list) or all(map(test, value))


def _unique(_: _Compiler, schema: Body, __: frozenset[str]) -> _Test:
    def test(value: Json) -> bool:
        if not isinstance(value, list) or len(value) < 2:
            return True
        if not all(isinstance(each, str) for each in value):
            raise _UncertainError
        return len(set(value)) == len(value)

    return test if schema["uniqueItems"] is True else _uncertain


def _bound(keyword: str, kind: type, size: Callable[[Json, Json], bool]) -> _Maker:
    def make(_: _Compiler, schema: Body, __: frozenset[str]) -> _Test:
        bound = schema[keyword]
        if not _is_number(bound):
            return _uncertain
        return lambda value: not isinstance(value, kind) or size(value, bound)

    return make


def _at_least(_: _Compiler, schema: Body, __: frozenset[str]) -> _Test:
    least = schema["minimum"]
    return lambda value: not _is_number(value) or not value < least


def _at_most(_: _Compiler, schema: Body, __: frozenset[str]) -> _Test:
    most = schema["maximum"]
    return lambda value: not _is_number(value) or not value > most


def _all_of(compiler: _Compiler, schema: Body, ignore: frozenset[str]) -> _Test:
    tests = [compiler.test(each, ignore) for each in schema["allOf"]]
    return lambda value: all(test(value) for test in tests)


def _any_of(compiler: _Compiler, schema: Body, _: frozenset[str]) -> _Test:
    tests = [compiler.test(each) for each in schema["anyOf"]]
    return lambda value: any(test(value) for test in tests)


def _one_of(compiler: _Compiler, schema: Body, _: frozenset[str]) -> _Test:
    tests = [compiler.test(each) for each in schema["oneOf"]]
    return lambda value: sum(test(value) for test in tests) == 1


def _not(compiler: _Compiler, schema: Body, _: frozenset[str]) -> _Test:
    test = compiler.test(schema["not"])
    return lambda value: not test(value)


def _if(compiler: _Compiler, schema: Body, ignore: frozenset[str]) -> _Test:
    condition = compiler.test(schema["if"])
    then = compiler.test(schema.get("then", True), ignore)
    otherwise = compiler.test(schema.get("else", True), ignore)
    return lambda value: then(value) if condition(value) else otherwise(value)


_Maker = Callable[[_Compiler, Body, frozenset[str]], _Test]
_KEYWORDS: Final[Mapping[str, _Maker]] = {
    "$ref": _Compiler.reference,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "minLength": _bound("minLength", str, lambda value, bound: len(value) >= bound),
    "maxLength": _bound("maxLength", str, lambda value, bound: len(value) <= bound),
    "minItems": _bound("minItems", list, lambda value, bound: len(value) >= bound),
    "maxItems": _bound("maxItems", list, lambda value, bound: len(value) <= bound),
    "minProperties": _bound("minProperties", dict, lambda value, bound: len(value) >= bound),
    "maxProperties": _bound("maxProperties", dict, lambda value, bound: len(value) <= bound),
    "minimum": _at_least,
    "maximum": _at_most,
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "propertyNames": _property_names,
    "items": _items,
    "uniqueItems": _unique,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}
