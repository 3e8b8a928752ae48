"""Conditions and equality. The program gives these their laziness; the code here is what is left
when both sides are known."""

from __future__ import annotations

import operator
from typing import Final

from chartkit.engine.cel.declarations import declared, overload
from chartkit.engine.cel.library import costs
from chartkit.engine.cel.values import equal, same

conditional = overload("conditional: _?_:_(bool, A, A) -> A")(
    lambda condition, yes, no: yes if condition else no
)

logical_and = overload("logical_and: _&&_(bool, bool) -> bool")(lambda left, right: left and right)

logical_or = overload("logical_or: _||_(bool, bool) -> bool")(lambda left, right: left or right)

logical_not = overload("logical_not: !_(bool) -> bool")(operator.not_)

not_strictly_false = overload("not_strictly_false: @not_strictly_false(bool) -> bool")(
    lambda value: value is not False
)

equals = overload("equals: _==_(A, A) -> bool", cost=costs.of_shorter)(equal)

not_equals = overload("not_equals: _!=_(A, A) -> bool", cost=costs.of_shorter)(
    lambda left, right: not same(left, right)
)

OVERLOADS: Final = declared(globals())
