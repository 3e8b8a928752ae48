"""Declarations of functions: a signature gives the name and the types.

What a function does, and an example of it, are in `functions/functions.yaml`, under its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from itertools import repeat
from operator import or_
from pathlib import Path
from typing import Any, Final

from chartkit.engine.budget import Budget
from chartkit.engine.jmespath.expression import InvalidTypeError
from chartkit.engine.jmespath.nodes import Node
from chartkit.go.fmt import go_sprint
from chartkit.model import Body, Json

_SURROGATE = re.compile("[\ud800-\udfff]")
_COMPARISON: Final = "a comparison"

Search = Callable[[Json, Budget], Json]
"""A compiled expression: from a value to what it finds there, within a budget."""


class ItemsList(list[Json]):
    """The list that `items` returns.

    Kyverno makes it of another Go type than all other lists: projections, indexes and `length`
    take it, while several functions crash on it.
    """


@dataclass(frozen=True, slots=True)
class ExpressionReference:
    """An `&expression` argument.

    strict raises `NotFoundError` for a missing key; lenient gives null for it.
    """

    node: Node
    strict: Search
    lenient: Search

    def found(self, members: list[Json], budget: Budget) -> Iterator[Json]:
        """Return the result of the expression for each member, null for a missing key."""
        budget.spend(len(members) * self.node.weight, "an expression of each element")
        return (self.lenient(member, budget) for member in members)

    def __str__(self) -> str:
        return f"{{{self.node}}}"


@dataclass(frozen=True, slots=True)
class Type:
    """A type of arguments or results, named as in Kyverno's messages.

    classes: the Python classes of its values, where they tell; accepts: else.
    """

    names: tuple[str, ...]
    classes: frozenset[type] | None
    elements: tuple[frozenset[type], ...] = ()

    def __or__(self, other: Type) -> Type:
        classes = None
        if self.classes is not None and other.classes is not None:
            classes = self.classes | other.classes
        return Type(self.names + other.names, classes, self.elements + other.elements)

    def __str__(self) -> str:
        return "|".join(self.names)

    def check(self, value: Json, budget: Budget) -> None:
        """Raises `InvalidTypeError` for a value of another type."""
        if self.classes is None or value.__class__ in self.classes:
            return
        if value.__class__ is list and any(
            all(member.__class__ in classes for member in value) for classes in self.elements
        ):
            return
        budget.weigh(value, "a value of a wrong type")
        text = str(value) if isinstance(value, ExpressionReference) else go_sprint(value)
        names = ", ".join(f'"{name}"' for name in self.names)
        expected = f"[]jmespath.JpType{{{names}}}"
        raise InvalidTypeError(f"Invalid type for: {text}, expected: {expected}")


_STRINGS = frozenset({str})
_NUMBERS: frozenset[type] = frozenset({int, float})

STRING = Type(("string",), _STRINGS)
NUMBER = Type(("number",), _NUMBERS)
BOOLEAN = Type(("bool",), frozenset({bool}))
ARRAY = Type(("array",), frozenset({list, ItemsList}))
OBJECT = Type(("object",), frozenset({dict}))
ARRAY_OF_NUMBERS = Type(("array[number]",), frozenset(), (_NUMBERS,))
ARRAY_OF_STRINGS = Type(("array[string]",), frozenset(), (_STRINGS,))
EXPRESSION = Type(("expref",), frozenset({ExpressionReference}))
ANY = Type(("any",), None)


_TYPES = {
    one.names[0]: one
    for one in (
        *(STRING, NUMBER, BOOLEAN, ARRAY, OBJECT, EXPRESSION, ANY),
        *(ARRAY_OF_NUMBERS, ARRAY_OF_STRINGS),
    )
}


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """One function of the language.

    A call counts what it is given. counts: whether the implementation takes the budget as its
    first argument and counts what it makes, before it makes it: one that can return many times
    what it is given, or looks at more than its members, must.

    signature: as the documentation shows it, `trim(string, string) string`; parameters: the types
    it takes; variadic: the last one may stand any number of times (and Kyverno then checks no
    types); implementation: takes the checked arguments; cel: the same in CEL, of the
    implementation's parameters, where they are texts: `text.split(separator)`. Migration takes it;
    empty where it knows more than that, or where CEL has nothing like it.
    """

    name: str
    signature: str
    parameters: tuple[Type, ...]
    variadic: bool
    counts: bool
    implementation: Callable[..., Json]
    cel: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the implementation's parameters, but for the budget."""
        first = int(self.counts)
        return self.implementation.__code__.co_varnames[first : first + len(self.parameters)]

    @property
    def result(self) -> str:
        """Return the type of the result, as the signature has it."""
        return self.signature.rpartition(")")[2].strip()

    @property
    def doc(self) -> str:
        """Return the sentence that documents it, by `functions.yaml`; empty for none."""
        return str(_meanings().get(self.name, {}).get("doc", ""))

    @property
    def example(self) -> str:
        """Return a call of it, by `functions.yaml`; empty for none."""
        return str(_meanings().get(self.name, {}).get("example", ""))


@cache
def _meanings() -> Mapping[str, Body]:
    from chartkit.documents.reader import read_file

    meanings: Mapping[str, Body] = read_file(Path(__file__).parent / _MEANINGS)[0].body
    return meanings


_MEANINGS: Final = "functions/functions.yaml"


def function(signature: str, cel: str = "") -> Callable[[Callable[..., Any]], FunctionSpec]:
    """Declare a function; the decorated name becomes its `FunctionSpec`, which says what `cel` is.

    signature: name, types and result, as in `join(string, array[string]) string`; `...` stands
    after a last type that may be repeated, `|` between types. A first parameter `budget` makes it
    one that counts.
    """
    name, _, listed = signature.rpartition(")")[0].partition("(")
    texts = listed.removesuffix("...").split(", ") if listed else ()
    types = tuple(reduce(or_, map(_TYPES.__getitem__, text.split("|"))) for text in texts)

    def declare(implementation: Callable[..., Any]) -> FunctionSpec:
        code = getattr(implementation, "__code__", None)
        counts = code is not None and code.co_varnames[:1] == ("budget",)
        variadic = listed.endswith("...")
        return FunctionSpec(name, signature, types, variadic, counts, implementation, cel)

    return declare


def functions(table: Mapping[str, Callable[..., Any]]) -> tuple[FunctionSpec, ...]:
    """Declare functions whose code exists or is one expression, by their signatures."""
    return tuple(function(signature)(code) for signature, code in table.items())


def is_number(value: Json) -> bool:
    """Report whether a value is a float64: a plain int or float, neither a boolean nor an
    `Int64`."""
    return value.__class__ in _NUMBERS


def deep_equal(left: Json, right: Json, budget: Budget) -> bool:
    """Go's `reflect.DeepEqual`: values of other types are never equal, numbers are float64."""
    kind = left.__class__
    if kind is str:
        return bool(left == right)
    if kind is not right.__class__:
        return is_number(left) and is_number(right) and float(left) == float(right)
    if kind is int:
        return bool(left == right) or float(left) == float(right)
    if kind is dict:
        budget.spend(len(left) + 8, _COMPARISON)
        return len(left) == len(right) and all(
            key in right and deep_equal(member, right[key], budget) for key, member in left.items()
        )
    if kind is list or kind is ItemsList:
        budget.spend(len(left) + 8, _COMPARISON)
        return len(left) == len(right) and all(map(deep_equal, left, right, repeat(budget)))
    if kind is ExpressionReference:
        return bool(left.node == right.node)
    return bool(left == right)


def to_json(value: Json) -> Json:
    """The value as it leaves the language: typed lists, stray bytes and references made JSON."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {to_json(key): to_json(member) for key, member in value.items()}
    if isinstance(value, list):
        return [to_json(member) for member in value]
    return {} if isinstance(value, ExpressionReference) else value
