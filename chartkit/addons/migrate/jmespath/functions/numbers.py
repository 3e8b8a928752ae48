"""Numbers: sums, quotients, the greatest and the least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import DECIMALS, DIVISION
from chartkit.addons.migrate.expressions.place import QUANTITY, SIZE, Place
from chartkit.addons.migrate.jmespath.constants import EXACT
from chartkit.addons.migrate.jmespath.environment import Names
from chartkit.addons.migrate.jmespath.functions.declaration import (
    FUNCTIONS,
    declare,
    text_or_field,
    there,
)
from chartkit.addons.migrate.jmespath.terms import Constant, Stream, Term, Value, computed
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import Call, ListLiteral
from chartkit.go.quantity import quantity_or_none

_NUMBERS: Final = ("int", "double")
_IS_NUMBER: Final = r"^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2})?$"
"""A number in decimal."""


@declare
def sum_(_names: Names, args: Sequence[Term]) -> Term:
    """The sum of numbers; of none it is an error."""
    elements, type_ = _elements(args[0], "the sum")
    total = cel.method(elements, "sum")
    if isinstance(elements, ListLiteral):
        return computed(total, type_)
    nothing = cel.method(cel.method(cel.ident("optional"), "none"), "value")
    some = cel.compare(">", cel.method(elements, "size"), 0)
    return computed(cel.conditional(some, total, nothing), type_)


def _elements(term: Term, role: str) -> tuple[Expr, str]:
    """Return a list of numbers, and their type."""
    match term:
        case Stream() if term.item.type in _NUMBERS:
            return term.required().list(), term.item.type
        case Value(place) if place.type in ("[]int", "[]double"):
            return there(term).value, place.type.removeprefix("[]")
    raise NotConvertible(f"{role} of values that may be no numbers")


def _extremes(name: str, function: str) -> None:
    def extreme(_names: Names, args: Sequence[Term]) -> Term:
        elements, type_ = _elements(args[0], f"the {name}")
        chosen = computed(cel.call(function, elements), type_)
        if isinstance(elements, ListLiteral):
            return chosen
        some = cel.compare(">", cel.method(elements, "size"), 0)
        return Value(replace(chosen.place, given=some), strict=False)

    FUNCTIONS[name] = extreme


_extremes("max", "math.greatest")
_extremes("min", "math.least")


@declare
def to_number(names: Names, args: Sequence[Term]) -> Term:
    """A number as it is; of a text the number, or null where it is none."""
    (term,) = args
    if isinstance(term, Value) and term.place.type in _NUMBERS:
        return term
    names.note(DECIMALS)
    written = text_or_field(term)
    number = computed(cel.call("double", written), "double")
    return Value(replace(number.place, given=cel.method(written, "matches", _IS_NUMBER)), False)


def _arithmetic(name: str, operator: str, of_sizes: str = "") -> None:
    def function(_names: Names, args: Sequence[Term]) -> Term:
        if of_sizes and all(map(_is_size, args)):
            first, second = map(_quantity, args)
            return computed(cel.method(first, of_sizes, second), SIZE)
        left, right = (_whole(each) for each in args)
        return computed(cel.compare(operator, left, right), "int")

    FUNCTIONS[name] = function


def _whole(term: Term) -> Expr:
    match term:
        case Constant(int() | float() as value) if type(value) is not bool and _is_exact(value):
            return cel.literal(int(value))
        case Value(place) if place.type == "int":
            return there(term).value
    raise NotConvertible("arithmetic of values that may be no whole numbers")


def _is_exact(number: float) -> bool:
    return float(number).is_integer() and abs(number) < EXACT


_arithmetic("add", "+", "add")
_arithmetic("subtract", "-", "sub")
_arithmetic("multiply", "*")
_arithmetic("modulo", "%")


def _rounding(name: str, function: str) -> None:
    def rounded(_names: Names, args: Sequence[Term]) -> Term:
        match args[0]:
            case Value(place) if place.type == "double":
                return computed(cel.call(function, there(args[0]).value), "double")
            case Value(place) if place.type == "int" and name == "abs":
                return computed(cel.call(function, there(args[0]).value), "int")
            case Value(place) if place.type == "int":
                return args[0]
        raise NotConvertible(f"{name} of a value that may be no number")

    FUNCTIONS[name] = rounded


_rounding("abs", "math.abs")
_rounding("ceil", "math.ceil")
_rounding("floor", "math.floor")


@declare
def divide(names: Names, args: Sequence[Term]) -> Term:
    """The quotient of two sizes."""
    names.note(DIVISION)
    first, second = (cel.method(_quantity(term), "asApproximateFloat") for term in args)
    return computed(cel.compare("/", first, second), "double")


def _is_size(term: Term) -> bool:
    try:
        _quantity(term)
    except NotConvertible:
        return False
    return True


def _quantity(term: Term) -> Expr:
    """Return a text that is a size as a quantity; raises `NotConvertible` for another value."""
    match term:
        case Constant(str() as size) if quantity_or_none(size) is not None:
            return cel.call("quantity", size)
        case Value(place) if place.type == SIZE:
            return there(term).value
        case Value(place) if place.type == QUANTITY:
            return cel.call("quantity", cel.call("string", there(term).value))
        case Value(Place(Call("string", None) as written, ())):
            return cel.call("quantity", written)
    raise NotConvertible("arithmetic of values that may be no sizes")
