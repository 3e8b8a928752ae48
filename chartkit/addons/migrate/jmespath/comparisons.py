"""Comparisons of JMESPath, and `a || b` and `a && b`: one of several values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import WORDS
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import (
    ANY_LIST,
    ANY_MAP,
    MIXED,
    QUANTITY,
    SIZE,
    TEXT,
    TIMES,
    UNKNOWN,
    Place,
)
from chartkit.addons.migrate.expressions.presence import path_of, present_if
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction, either
from chartkit.addons.migrate.jmespath.terms import (
    Choice,
    Constant,
    Stream,
    Term,
    Value,
    computed,
    expression_of,
    falsy,
    is_json,
    is_truthy,
    type_of,
)
from chartkit.engine.budget import Budget
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Call, ListLiteral
from chartkit.engine.jmespath.declaration import deep_equal
from chartkit.go.quantity import quantity_or_none
from chartkit.model import same

_NUMBERS: Final = ("int", "double")
_ZERO: Final = ("0", 0)


def compared(sign: str, left: Term, right: Term) -> Term:
    """Return a comparison; raises `NotConvertible`."""
    return spread((left, right), lambda sides: _compared(sign, *sides))


def _compared(sign: str, left: Term, right: Term) -> Term:
    if sign not in ("==", "!="):
        # The order of two numbers; of other values it is null, which is not true.
        sides = [_number(side) for side in (left, right)]
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
        is_scalar = isinstance(other, Constant) and isinstance(other.value, str | int | float)
        if is_scalar and _is_holder(term):
            # A list or an object is not a scalar, and neither is null.
            return Constant(sign == "!=")
        if isinstance(term, Value) and isinstance(other, Constant):
            decided = _with_constant(term.place, other)
            if decided is not None:
                same = sign == "=="
                return computed(decided if same else cel.negate(decided), "bool")
    return computed(cel.compare(sign, expression_of(left), expression_of(right)), "bool")


def _is_holder(term: Term) -> bool:
    is_value = isinstance(term, Value) and (term.place.is_list or term.place.is_map)
    return is_value or isinstance(term, Stream)


def spread(terms: Sequence[Term], use: Callable[[Sequence[Term]], Term]) -> Term:
    """Return what is made of terms, of each that may be one of two for either."""
    choices = ((at, term) for at, term in enumerate(terms) if isinstance(term, Choice))
    at, choice = next(choices, (0, None))
    if choice is None:
        return use(terms)
    before, after = terms[:at], terms[at + 1 :]
    return for_each(choice, lambda term: spread([*before, term, *after], use))


def for_each(choice: Choice, use: Callable[[Term], Term]) -> Term:
    """Return what is made of one of two terms."""
    return chosen(choice.holds, use(choice.first), use(choice.second))


def _with_constant(place: Place, other: Constant) -> Expr | None:
    """Report whether a value is a constant, where another form than `==` says it; None else."""
    if place.among and other.value not in place.among:
        return cel.FALSE
    if place.among == (other.value,):
        return cel.TRUE
    if place.type == "bool" and not place.is_optional and isinstance(other.value, bool):
        return place.value if other.value else cel.negate(place.value)
    is_told = place.given != cel.TRUE or not (place.optional or place.path in TIMES)
    if other.value is None and place.is_known and is_told:
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
    raise NotConvertible("an order of values that are not numbers")


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
            always = replace(left, presence=cel.TRUE, strict=False)
            return always if right == Constant([]) else chosen(is_truthy(left), always, right)
        case Value(place):
            return _or_default(place, right)
        case Choice():
            return for_each(left, lambda term: first_truthy(term, right))


def _or_default(place: Place, default: Term) -> Term:
    place = _like(place, default)
    if is_truthy(Value(place)) == cel.TRUE:
        return Value(place)
    # Whether every value that may be here is true, so that a default is for none alone.
    is_some_where_true = place.type in (*_NUMBERS, QUANTITY) and place.given == cel.TRUE
    if is_some_where_true and type_of(default) == place.type:
        return computed(place.or_value(expression_of(default)), place.type)
    match default:
        case Constant(None) if place.type == TEXT:
            given = is_truthy(Value(place, strict=False))
            return Value(replace(place.settled(), given=given), strict=False)
        case Constant([]) if place.is_list:
            return Value(replace(place.settled(), root=place.or_value([])), strict=False)
        case Constant(value) if value is not None and same(value, falsy(place)):
            return computed(place.or_value(value), place.type)
        case Constant(value) if place.type in _NUMBERS and _is_number(value):
            is_whole = place.type == "int" and value == int(value)
            if value == 0 and _counts(place.settled().value, place.given):
                return computed(place.settled().value, place.type)
            return computed(place.or_value(int(value) if is_whole else value), place.type)
        case Constant(str() as value) if (
            place.type == QUANTITY and quantity_or_none(value) is not None
        ):
            return computed(place.or_value(value), place.type)
        case Constant(str() as value) if place.type in (TEXT, UNKNOWN):
            place = place.taken_for(TEXT)
            if not value:
                return computed(place.or_value(value), place.type)
            given = cel.not_equal(place.or_value(""), "")
            return computed(cel.conditional(given, place.value, value), place.type)
    holds = is_truthy(Value(place, strict=False))
    if place.type == "bool":
        return chosen(holds, Constant(True), default)
    match default:
        case Constant(list() | dict() as value) if (
            place.is_list if isinstance(value, list) else place.is_map
        ):
            chosen_value = cel.conditional(holds, place.value, expression_of(default))
            return Value(replace(place.settled(), root=chosen_value))
    return chosen(holds, Value(place.settled()), default)


def _like(place: Place, default: Term) -> Place:
    """Return the place of a value of unknown type as one of its default's type."""
    match default:
        case Constant(list()):
            return place.taken_for(ANY_LIST)
        case Constant(dict()):
            return place.taken_for(ANY_MAP)
    type_ = ANY_LIST if type_of(default).startswith("[]") else type_of(default)
    return place.taken_for(type_) if place.path and type_ in WORDS else place


def _counts(size: Expr, given: Expr) -> bool:
    """Report whether an expression is the size of a list that is empty unless a test holds."""
    match size:
        case Call("size", Call("orValue", asked, (ListLiteral(()),))) if asked is not None:
            return path_of(asked) in present_if(given)
    return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def chosen(holds: Expr, then: Term, otherwise: Term) -> Term:
    """Return one of two terms; raises `NotConvertible`."""
    if holds == cel.TRUE or (then == otherwise and type_of(then) == type_of(otherwise)):
        return then
    if holds == cel.FALSE:
        return otherwise
    if isinstance(otherwise, Constant):
        limited = _only_where(holds, then, otherwise)
        if limited is not None:
            return limited
    type_ = _common(type_of(then), type_of(otherwise))
    if type_ == MIXED:
        return Choice(holds, then, otherwise)
    if type_ == "int" and otherwise == Constant(0) and _counts(expression_of(then), holds):
        return then
    if type_ == "bool" and Constant in (type(then), type(otherwise)):
        return computed(either(holds, expression_of(then), expression_of(otherwise)), type_)
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


def _common(first: str, second: str) -> str:
    """Return the type of a value of one of two types."""
    if {first, second} <= {*_NUMBERS}:
        return "double" if first != second else first
    return first if first == second and first != UNKNOWN else MIXED
