"""Functions of numbers, times and durations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import DECIMALS, TIMES
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import (
    INT_OR_TEXT,
    QUANTITY,
    SIZE,
    SPAN,
    TEXT,
    TIME,
    Place,
)
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.jmespath.functions.declaration import (
    FUNCTIONS,
    constant_text,
    declare,
    declare_as,
    text,
    text_or_field,
    there,
)
from chartkit.addons.migrate.jmespath.terms import (
    EXACT,
    Constant,
    Names,
    Stream,
    Term,
    Value,
    computed,
    double_of,
    type_of,
)
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import Call, Index, ListLiteral, Literal, Select
from chartkit.engine.cel.times import timestamp_of_text
from chartkit.go.duration import SECOND, duration_or_none
from chartkit.go.quantity import quantity_or_none
from chartkit.go.time_layout import RFC3339

_NUMBERS: Final = ("int", "double")
_IS_NUMBER: Final = r"^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2})?$"
"""A number in decimal."""


@declare
def sum_(_names: Names, args: Sequence[Term]) -> Term:
    """The sum of numbers, an error without any."""
    elements, type_ = _elements(args[0], "the sum", sizes=True)
    total = cel.method(elements, "sum")
    if type_ == SIZE:
        total = _of_milli(total)
    if isinstance(elements, ListLiteral):
        return computed(total, type_)
    nothing = cel.nothing()
    some = cel.compare(">", cel.method(elements, "size"), 0)
    return computed(cel.conditional(some, total, nothing), type_)


def _elements(term: Term, role: str, *, sizes: bool = False) -> tuple[Expr, str]:
    """Return a list of numbers, and their type; sizes: whether those of sizes, too."""
    match term:
        case Stream() if sizes and term.item.type == QUANTITY:
            return _elements(Value(term.required().listed()), role, sizes=True)
        case Value(place) if sizes and place.type == f"[]{QUANTITY}":
            amount = _milli(cel.filled("quantity(string(size))"))
            return cel.macro(there(term).value, "map", "size", amount), SIZE
        case Stream() if term.item.type in _NUMBERS:
            return term.required().list(), term.item.type
        case Stream() if not term.item.is_known and term.item.path:
            return _elements(replace(term, item=term.item.taken_for("int")), role)
        case Value(place) if place.type in ("[]int", "[]double"):
            return there(term).value, place.type.removeprefix("[]")
    raise NotConvertible(f"{role} of values that might not be numbers")


def _extremes(name: str, function: str) -> None:
    def extreme(_names: Names, args: Sequence[Term]) -> Term:
        elements, type_ = _elements(args[0], f"the {name}")
        chosen = computed(cel.call(function, elements), type_)
        if isinstance(elements, ListLiteral):
            return chosen
        some = cel.compare(">", cel.method(elements, "size"), 0)
        return Value(replace(chosen.place, given=some), strict=False)

    FUNCTIONS[name] = extreme


@declare
def avg(_names: Names, args: Sequence[Term]) -> Term:
    """The average of numbers."""
    elements, _ = _elements(args[0], "the average")
    average = cel.filled("double(numbers.sum()) / double(numbers.size())", numbers=elements)
    return computed(average, "double")


_extremes("max", "math.greatest")
_extremes("min", "math.least")


@declare
def to_number(names: Names, args: Sequence[Term]) -> Term:
    """A number as it is; of a text the number, or null where it is not one."""
    (term,) = args
    if isinstance(term, Value) and term.place.type in _NUMBERS:
        return term
    names.note(DECIMALS)
    is_there: Expr = cel.TRUE
    if isinstance(term, Value) and not term.strict:
        is_there, term = term.place.is_present(), Value(term.place.settled())
    if isinstance(term, Value) and term.place.type in (QUANTITY, INT_OR_TEXT):
        written: Expr = cel.call("string", term.place.value)
    else:
        written = text_or_field(term)
    number = computed(cel.call("double", written), "double")
    given = conjunction(is_there, cel.method(written, "matches", _IS_NUMBER))
    return Value(replace(number.place, given=given), strict=False)


def _arithmetic(name: str, operator: str, of_sizes: str = "") -> None:
    def function(_names: Names, args: Sequence[Term]) -> Term:
        if of_sizes and all(map(_is_size, args)):
            first, second = map(_quantity, args)
            return computed(cel.method(first, of_sizes, second), SIZE)
        return _of_numbers(operator, args)

    FUNCTIONS[name] = function


def _of_numbers(operator: str, args: Sequence[Term]) -> Term:
    if operator != "%" and any(type_of(arg) == "double" for arg in args):
        left, right = map(_double, args)
        return computed(cel.compare(operator, left, right), "double")
    left, right = (_whole(arg) for arg in args)
    return computed(cel.compare(operator, left, right), "int")


def _milli(size: Expr) -> Expr:
    """Return a quantity as a whole number of thousandths, of which there are sums and products."""
    return cel.filled("int(math.round(size.asApproximateFloat() * 1000.0))", size=size)


def _of_milli(number: Expr) -> Expr:
    return cel.filled("quantity(string(number) + 'm')", number=number)


@declare
def multiply(_names: Names, args: Sequence[Term]) -> Term:
    """The product of two numbers, or of a size and a whole number."""
    sizes = [term for term in args if _is_size(term)]
    if len(sizes) == 1:
        (factor,) = (_whole(term) for term in args if term is not sizes[0])
        product = cel.compare("*", _milli(_quantity(sizes[0])), factor)
        return computed(_of_milli(product), SIZE)
    return _of_numbers("*", args)


@declare
def divide(_names: Names, args: Sequence[Term]) -> Term:
    """The quotient of two numbers, or of two sizes."""
    if all(type_of(term) in _NUMBERS for term in args):
        first, second = map(_double, args)
    else:
        first, second = (cel.method(_quantity(term), "asApproximateFloat") for term in args)
    quotient = cel.compare("/", first, cel.ident("divisor"))
    safe = cel.conditional(cel.filled("divisor != 0.0"), quotient, cel.nothing())
    match second:
        case Literal(float() as number) if number:
            return computed(cel.compare("/", first, second), "double")
    return computed(cel.bind("divisor", second, safe), "double")


def _double(term: Term) -> Expr:
    """Return a number as a double, an error where there is none."""
    if isinstance(term, Value) and term.place.type == "double" and term.place.given != cel.TRUE:
        return cel.conditional(term.place.given, term.place.settled().value, cel.nothing())
    return double_of(term)


def _whole(term: Term) -> Expr:
    match term:
        case Constant(int() | float() as value) if type(value) is not bool:
            if float(value).is_integer() and abs(value) < EXACT:
                return cel.literal(int(value))
        case Value(place) if place.type == "int":
            number = there(term).value
            # Kyverno's command line reads the numbers of objects as doubles.
            return cel.call("int", number) if isinstance(number, Select | Index) else number
    raise NotConvertible("arithmetic of values that may be no whole numbers")


_arithmetic("add", "+", "add")
_arithmetic("subtract", "-", "sub")
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
        raise NotConvertible(f"{name} of a value that might not be a number")

    FUNCTIONS[name] = rounded


_rounding("abs", "math.abs")
_rounding("ceil", "math.ceil")
_rounding("floor", "math.floor")


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


_NOW: Final = cel.filled("time.now()")
_WRITTEN: Final = ("creationTimestamp", "deletionTimestamp")
"""Fields that an API server writes, in whole seconds of UTC."""


def _moment(names: Names, term: Term) -> Expr:
    """Return a time as a timestamp; an invalid text is an error in both forms."""
    match term:
        case Constant(str() as written):
            try:
                timestamp_of_text(written)
            except CelError:
                raise NotConvertible(f"{written} is not a time in RFC 3339") from None
            return cel.call("timestamp", written)
        case Value(place) if place.type == TIME:
            return there(term).value
        case Value(place):
            if not place.path.endswith(_WRITTEN):
                names.note(TIMES)
            return cel.call("timestamp", there(Value(place.taken_for(TEXT), term.strict)).value)
    raise NotConvertible("a time is needed where the type is not known")


def _span(names: Names, term: Term) -> Expr:
    match term:
        case Constant(str() as written):
            if duration_or_none(written) is None:
                raise NotConvertible(f"{written} is not a duration")
            return cel.call("duration", written)
        case Value(place) if place.type == SPAN:
            return there(term).value
    names.note(TIMES)
    return cel.call("duration", text(term))


def _without_fraction(moment: Expr) -> Term:
    return computed(cel.filled("time.truncate(moment, duration('1s'))", moment=moment), TIME)


def _is_whole(term: Term) -> bool:
    """Report whether a time or a span has no fraction of a second."""
    match term:
        case Constant(str() as written):
            nanoseconds = duration_or_none(written)
            return "." not in written if nanoseconds is None else nanoseconds % SECOND == 0
        case Value(place):
            return place.type == TIME or place.path.endswith(_WRITTEN)
    return False


def _layout(term: Term) -> None:
    if constant_text(term, "the layout of a time") not in ("", RFC3339):
        raise NotConvertible("the layout of a time is not that of RFC 3339")


@declare
def time_since(names: Names, args: Sequence[Term]) -> Term:
    """The span from one time to another, or to now."""
    layout, start, end = args
    _layout(layout)
    until = _NOW if end == Constant("") else _moment(names, end)
    return computed(cel.compare("-", until, _moment(names, start)), SPAN)


@declare
def time_now(_names: Names, _args: Sequence[Term]) -> Term:
    """The time; Kyverno's controllers run in UTC."""
    return _without_fraction(_NOW)


@declare
def time_now_utc(_names: Names, _args: Sequence[Term]) -> Term:
    """The time in UTC."""
    return _without_fraction(_NOW)


@declare
def time_parse(names: Names, args: Sequence[Term]) -> Term:
    """A time in RFC 3339, without its fraction of a second."""
    layout, moment = args
    _layout(layout)
    if layout == Constant(""):
        raise NotConvertible("a time in an empty layout")
    parsed = _moment(names, moment)
    return computed(parsed, TIME) if _is_whole(moment) else _without_fraction(parsed)


@declare
def time_add(names: Names, args: Sequence[Term]) -> Term:
    """A time so much later."""
    moment, span = args
    later = cel.compare("+", _moment(names, moment), _span(names, span))
    return computed(later, TIME) if all(map(_is_whole, args)) else _without_fraction(later)


@declare
def time_truncate(names: Names, args: Sequence[Term]) -> Term:
    """A time rounded down to a multiple of a span."""
    moment, span = args
    cut = cel.method(cel.ident("time"), "truncate", _moment(names, moment), _span(names, span))
    # A span of zero or less leaves the fraction of a second.
    is_positive = isinstance(span, Constant) and (duration_or_none(str(span.value)) or 0) > 0
    return computed(cut, TIME) if is_positive and _is_whole(span) else _without_fraction(cut)


@declare
def time_utc(names: Names, args: Sequence[Term]) -> Term:
    """A time in UTC, as those are that Kubernetes writes."""
    (moment,) = args
    if not isinstance(moment, Value) or not moment.place.path.endswith(_WRITTEN):
        raise NotConvertible("a time of any zone is shown in UTC")
    return computed(_moment(names, moment), TIME)


declare_as("time_after", "first > second", "bool", first=_moment, second=_moment)
declare_as("time_before", "first < second", "bool", first=_moment, second=_moment)
declare_as("time_diff", "second - first", SPAN, first=_moment, second=_moment)
declare_as("time_to_cron", "time.toCron(first)", TEXT, first=_moment)
declare_as(
    "time_between",
    "start < time && time < end",
    "bool",
    time=_moment,
    start=_moment,
    end=_moment,
)
