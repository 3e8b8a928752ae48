"""Conditions and equality. The program gives these their laziness; the code here is what is left
when both sides are known."""

from __future__ import annotations

from typing import Final

from chartkit.engine.cel.declarations import Example, declared, overload
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.types import BOOL, A
from chartkit.engine.cel.values import Value, equal, same


@overload(
    "_?_:_",
    "conditional",
    BOOL,
    A,
    A,
    returns=A,
    doc="The second value where the condition holds, else the third; the other is not evaluated.",
    examples=(Example("size('abc') > 2 ? 'long' : 'short'", "'long'"),),
)
def conditional(condition: bool, yes: Value, no: Value) -> Value:
    return yes if condition else no


@overload(
    "_&&_",
    "logical_and",
    BOOL,
    BOOL,
    returns=BOOL,
    doc="Whether both hold; false if either is false, even where the other is an error.",
    examples=(Example("1 / 0 > 1 && false", "false"),),
)
def logical_and(left: bool, right: bool) -> bool:
    return left and right


@overload(
    "_||_",
    "logical_or",
    BOOL,
    BOOL,
    returns=BOOL,
    doc="Whether either holds; true if either is true, even where the other is an error.",
    examples=(Example("1 / 0 > 1 || true", "true"),),
)
def logical_or(left: bool, right: bool) -> bool:
    return left or right


@overload(
    "!_",
    "logical_not",
    BOOL,
    returns=BOOL,
    doc="Whether it does not hold.",
    examples=(Example("!(1 > 2)", "true"),),
)
def logical_not(value: bool) -> bool:
    return not value


@overload(
    "@not_strictly_false",
    "not_strictly_false",
    BOOL,
    returns=BOOL,
    doc="Whether a loop of `all` or `exists` goes on: all but `false` says so, errors included.",
)
def not_strictly_false(value: Value) -> bool:
    return value is not False


@overload(
    "_==_",
    "equals",
    A,
    A,
    returns=BOOL,
    cost=costs.of_shorter,
    doc="Whether two values are the same; numbers are compared by value whatever their type.",
    examples=(
        Example("duration('1h') == duration('60m')", "true"),
        Example("dyn(3.0) == 3", "true"),
        Example("dyn('3') == 3", "false"),
    ),
)
def equals(left: Value, right: Value) -> bool:
    return equal(left, right)


@overload(
    "_!=_",
    "not_equals",
    A,
    A,
    returns=BOOL,
    cost=costs.of_shorter,
    doc="Whether two values differ.",
    examples=(Example("'a' != 'b'", "true"),),
)
def not_equals(left: Value, right: Value) -> bool:
    return not same(left, right)


OVERLOADS: Final = declared(globals())
