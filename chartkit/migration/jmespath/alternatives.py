"""`a || b`: a value, or another where the first is null, false or empty."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chartkit.engine.cel.syntax import build as cel
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.expressions.place import ANY_LIST, ANY_MAP, TEXT, UNKNOWN, Place
from chartkit.migration.jmespath.terms import (
    Constant,
    Stream,
    Term,
    Value,
    computed,
    expression_of,
    falsy,
    is_truthy,
)

_SIZES: Final = ("quantity", "int-or-string")


def first_truthy(left: Term, right: Term) -> Term:
    """Return the left term where JMESPath takes it for true, else the right one.

    Raises `NotConvertible`.
    """
    match left:
        case Constant():
            return left if is_truthy(left) == cel.TRUE else right
        case Stream():
            if isinstance(right, Constant) and right.value in ([], "", None):
                return replace(left, presence=cel.TRUE, strict=False)
            raise NotConvertible("another list where one is empty")
        case Value(place):
            return _or_default(place, right)


def _or_default(place: Place, default: Term) -> Term:
    if isinstance(default, Constant) and isinstance(default.value, list | dict):
        place = place.taken_for(ANY_LIST if isinstance(default.value, list) else ANY_MAP)
    match default:
        case Constant(None) if place.type == TEXT:
            given = is_truthy(Value(place, strict=False))
            return Value(replace(place.settled(), given=given), strict=False)
        case Constant(value) if place.is_list and value in ([], "", None):
            settled = replace(place.settled(), root=place.or_value([]))
            return Value(settled, strict=False)
        case Constant(value) if value is not None and value == falsy(place):
            return computed(place.or_value(value), place.type)
        case Constant(value) if place.type in ("int", "double"):
            return computed(place.or_value(value), place.type)
        case Constant(str() as value) if place.type in (TEXT, *_SIZES, UNKNOWN):
            place = place.taken_for(TEXT)
            if not value:
                return computed(place.or_value(value), place.type)
            given = cel.not_equal(place.or_value(""), "")
            return computed(cel.conditional(given, place.value, value), place.type)
        case Constant() | Value() | Stream():
            given = is_truthy(Value(place, strict=False))
            chosen = cel.conditional(given, place.value, expression_of(default))
            return computed(chosen, place.type)
