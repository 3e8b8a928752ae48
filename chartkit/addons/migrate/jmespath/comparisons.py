"""Comparisons of JMESPath: equal or not, and the order of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import QUANTITY, SIZE, Place
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.jmespath.terms import (
    Constant,
    Term,
    Value,
    computed,
    expression_of,
    is_json,
)
from chartkit.engine.budget import Budget
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Call
from chartkit.engine.jmespath.declaration import deep_equal

_NUMBERS: Final = ("int", "double")
_ZERO: Final = ("0", 0)


def compared(sign: str, left: Term, right: Term) -> Term:
    """Return a comparison; raises `NotConvertible`."""
    if sign not in ("==", "!="):
        # The order of two numbers; of other values it is null, which is not true.
        sides = [_number(each) for each in (left, right)]
        first, second = (side.settled().value for side in sides)
        holds = cel.compare(sign, first, second)
        given = conjunction(*(side.is_present() for side in sides))
        return Value(replace(computed(holds, "bool").place, given=given), strict=False)
    if isinstance(left, Constant) and isinstance(right, Constant):
        if not (is_json(left.value) and is_json(right.value)):
            raise NotConvertible("the request as a whole")
        same = deep_equal(left.value, right.value, Budget())
        return Constant(same == (sign == "=="))
    for term, other in ((left, right), (right, left)):
        if isinstance(term, Value) and isinstance(other, Constant):
            decided = _with_constant(term.place, other)
            if decided is not None:
                same = sign == "=="
                return computed(decided if same else cel.negate(decided), "bool")
    return computed(cel.compare(sign, expression_of(left), expression_of(right)), "bool")


def _with_constant(place: Place, other: Constant) -> Expr | None:
    """Return whether a value is a constant, where another form than `==` says it; None else."""
    if place.among and other.value not in place.among:
        return cel.FALSE
    if place.among == (other.value,):
        return cel.TRUE
    if other.value is None and place.given != cel.TRUE and place.is_known:
        return cel.negate(place.is_present())
    if place.type == SIZE:
        if other.value not in _ZERO:
            raise NotConvertible("a computed size is compared with a text")
        match place.value:
            case Call("sub", Call() as first, (second,)):
                return cel.equal(cel.method(first, "compareTo", second), 0)
        return cel.equal(cel.method(place.value, "compareTo", cel.call("quantity", "0")), 0)
    return None


def _number(term: Term) -> Place:
    """Return a value as a number, there only where it is one."""
    match term:
        case Constant(int() | float() as value) if not isinstance(value, bool):
            return Place(cel.literal(value), (), "int")
        case Value(place, strict):
            place = place.taken_for("double")
            if place.type in _NUMBERS:
                return place.settled() if strict else place
            if place.type in ("int-or-string", QUANTITY):
                is_number = cel.equal(cel.call("type", place.value), cel.ident("int"))
                given = conjunction(place.is_present(), is_number)
                return replace(place.settled(), type="int", given=given)
    raise NotConvertible("an order of values that are no numbers")
