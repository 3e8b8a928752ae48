"""`a || b` and `a && b`: one of several values, by what JMESPath takes for true."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import (
    ANY_LIST,
    ANY_MAP,
    MIXED,
    QUANTITY,
    TEXT,
    UNKNOWN,
    Place,
)
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.jmespath.terms import (
    Constant,
    Stream,
    Term,
    Value,
    computed,
    expression_of,
    falsy,
    is_truthy,
    type_of,
)
from chartkit.engine.cel.syntax import Expr

_SIZES: Final = (QUANTITY, "int-or-string")
_NUMBERS: Final = ("int", "double")


def first_truthy(left: Term, right: Term) -> Term:
    """Return the left term where JMESPath takes it for true, else the right one.

    Raises `NotConvertible`.
    """
    if type_of(left) == type_of(right) == "bool":
        return computed(disjunction(is_truthy(left), is_truthy(right)), "bool")
    match left:
        case Constant():
            return left if is_truthy(left) == cel.TRUE else right
        case Stream():
            if isinstance(right, Constant) and right.value in ([], ""):
                blank = right.value == ""
                return replace(left, presence=cel.TRUE, strict=False, blank=blank)
            return chosen(is_truthy(left), left, right)
        case Value(place):
            return _or_default(place, right)


def _or_default(place: Place, default: Term) -> Term:
    if isinstance(default, Constant) and isinstance(default.value, list | dict):
        place = place.taken_for(ANY_LIST if isinstance(default.value, list) else ANY_MAP)
    if place.path and type_of(default) != UNKNOWN:
        place = place.taken_for(type_of(default))
    if is_truthy(Value(place)) == cel.TRUE:
        return Value(place)
    # Whether every value that may be here is true, so that a default is for none alone.
    is_some_where_true = place.type in (*_NUMBERS, QUANTITY) and place.given == cel.TRUE
    if is_some_where_true and type_of(default) in (place.type, TEXT):
        return computed(place.or_value(expression_of(default)), place.type)
    match default:
        case Constant(None) if place.type == TEXT:
            given = is_truthy(Value(place, strict=False))
            return Value(replace(place.settled(), given=given), strict=False)
        case Constant(value) if place.is_list and value in ([], ""):
            settled = replace(place.settled(), root=place.or_value([]))
            return Value(settled, strict=False, blank=value == "")
        case Constant(value) if value is not None and value == falsy(place):
            return computed(place.or_value(value), place.type)
        case Constant(value) if place.type in _NUMBERS and _is_number(value):
            return computed(place.or_value(value), place.type)
        case Constant(str() as value) if place.type in (TEXT, *_SIZES, UNKNOWN):
            place = place.taken_for(TEXT)
            if not value or place.type == QUANTITY:
                return computed(place.or_value(value), place.type)
            given = cel.not_equal(place.or_value(""), "")
            return computed(cel.conditional(given, place.value, value), place.type)
    holds = is_truthy(Value(place, strict=False))
    if isinstance(default, Constant) and isinstance(default.value, list | dict):
        chosen_value = cel.conditional(holds, place.value, expression_of(default))
        return Value(replace(place.settled(), root=chosen_value))
    return chosen(holds, Value(place), default)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def chosen(holds: Expr, then: Term, otherwise: Term) -> Term:
    """Return one of two terms; raises `NotConvertible`."""
    if holds == cel.TRUE or then == otherwise:
        return then
    if holds == cel.FALSE:
        return otherwise
    if isinstance(otherwise, Constant):
        limited = _only_where(holds, then, otherwise)
        if limited is not None:
            return limited
    type_ = _common(type_of(then), type_of(otherwise))
    if isinstance(otherwise, Value) and otherwise.place.is_optional and not otherwise.strict:
        given = disjunction(holds, otherwise.place.is_present())
        other = otherwise.place.settled().value
        place = Place(cel.conditional(holds, expression_of(then), other), (), type_, given=given)
        return Value(place, strict=False)
    return computed(cel.conditional(holds, expression_of(then), expression_of(otherwise)), type_)


def _only_where(holds: Expr, then: Term, otherwise: Constant) -> Term | None:
    """Return a term that is there only where something holds, or an empty list; None for a term
    that no such form can be."""
    match then, otherwise.value:
        case Value(place), None if not place.is_optional:
            return Value(replace(place, given=holds), strict=False)
        case Value(place, strict), None if not strict:
            return Value(replace(place, given=conjunction(holds, place.given)), strict=False)
        case Stream(), ([] | None) as value:
            first, *others = then.generators
            given = conjunction(holds, first.elements.given)
            limited = replace(first, elements=replace(first.elements, given=given))
            presence = cel.TRUE if value is not None else conjunction(holds, then.presence)
            generators = (limited, *others)
            return replace(then, generators=generators, presence=presence, strict=False)
    return None


def _common(one: str, other: str) -> str:
    """Return the type of a value of one of two types."""
    if {one, other} <= {*_NUMBERS}:
        return "double" if one != other else one
    return one if one == other and one != UNKNOWN else MIXED
