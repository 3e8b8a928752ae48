"""Conditions and equality. The program gives these their laziness; the code here is what is left
when both sides are known."""

from __future__ import annotations

import operator
from typing import Final

from chartkit.engine.cel.declarations import declared, overload
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.values import equal, same

conditional = overload(
    "conditional: _?_:_(bool, A, A) -> A",
    "The second value where the condition holds, else the third; the other is not evaluated.",
    "size('abc') > 2 ? 'long' : 'short'  // 'long'",
)(lambda condition, yes, no: yes if condition else no)

logical_and = overload(
    "logical_and: _&&_(bool, bool) -> bool",
    "Whether both hold; false if either is false, even where the other is an error.",
    "1 / 0 > 1 && false  // false",
)(lambda left, right: left and right)

logical_or = overload(
    "logical_or: _||_(bool, bool) -> bool",
    "Whether either holds; true if either is true, even where the other is an error.",
    "1 / 0 > 1 || true  // true",
)(lambda left, right: left or right)

logical_not = overload(
    "logical_not: !_(bool) -> bool", "Whether it does not hold.", "!(1 > 2)  // true"
)(operator.not_)

not_strictly_false = overload(
    "not_strictly_false: @not_strictly_false(bool) -> bool",
    "Whether a loop of `all` or `exists` goes on: all but `false` says so, errors included.",
)(lambda value: value is not False)

equals = overload(
    "equals: _==_(A, A) -> bool",
    "Whether two values are the same; numbers are compared by value whatever their type.",
    "duration('1h') == duration('60m')  // true",
    "dyn(3.0) == 3  // true",
    "dyn('3') == 3  // false",
    cost=costs.of_shorter,
)(equal)

not_equals = overload(
    "not_equals: _!=_(A, A) -> bool",
    "Whether two values differ.",
    "'a' != 'b'  // true",
    cost=costs.of_shorter,
)(lambda left, right: not same(left, right))

OVERLOADS: Final = declared(globals())
