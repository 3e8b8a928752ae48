"""JMESPath's functions, Kyverno's among them: one declaration each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import Call, ListLiteral
from chartkit.go.duration import duration_or_none
from chartkit.go.quantity import quantity_or_none
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.differences import DIVISION
from chartkit.migration.expressions.names import names_several
from chartkit.migration.expressions.place import ANY_LIST, ANY_MAP, TEXT, Place
from chartkit.migration.expressions.verdict import conjunction
from chartkit.migration.jmespath.environment import Names
from chartkit.migration.jmespath.terms import (
    Constant,
    Generator,
    Stream,
    Term,
    Value,
    computed,
    expression_of,
)

Function = Callable[[Names, Sequence[Term]], Term]
"""The result for the names that an expression sees, and the arguments."""
FUNCTIONS: Final[dict[str, Function]] = {}


def _declare(function: Function) -> Function:
    FUNCTIONS[function.__name__.strip("_")] = function
    return function


@_declare
def length(_names: Names, args: Sequence[Term]) -> Term:
    """The number of elements, members or characters."""
    (term,) = args
    match term:
        case Stream():
            return computed(term.required().size(), "int")
        case Value():
            return computed(cel.method(_there(term).value, "size"), "int")
        case Constant(str() | list() | dict() as value):
            return Constant(len(value))
    raise NotConvertible("the length of a value that has none")


@_declare
def contains(names: Names, args: Sequence[Term]) -> Term:
    """Return whether a list has an element or a text a part."""
    where, what = args
    part = expression_of(what)
    match where:
        case Stream():
            return computed(where.exists(lambda item: cel.equal(item.value, part)), "bool")
        case Value(place) if place.is_list:
            return _if_there(where, cel.contains(place.value, part))
        case Value(place) if place.type == TEXT:
            return _if_there(where, cel.method(place.value, "contains", part))
        case Value(place) if not place.is_known:
            kind = ANY_LIST if names_several(place) else TEXT
            return contains(names, [replace(where, place=place.taken_for(kind)), what])
    raise NotConvertible("contains of a value whose type is not known")


def _if_there(term: Value, test: Expr) -> Term:
    """Return a test that is false where there is nothing: in a filter, its error counts as that."""
    if term.strict or not term.place.is_optional:
        return computed(test, "bool")
    return computed(conjunction(term.place.is_present(), test), "bool")


def _there(term: Value) -> Place:
    """Return the place of a value that must be there for a function to have a result."""
    if term.place.is_optional and not term.strict:
        raise NotConvertible("a function of a value that may be absent")
    return term.place


@_declare
def keys(names: Names, args: Sequence[Term]) -> Term:
    """The keys of an object."""
    (term,) = args
    return _keys(names, _object(term))


def _object(term: Term) -> Value:
    """Return a value that is an object."""
    if not isinstance(term, Value):
        raise NotConvertible("the members of a computed value")
    place = term.place.taken_for(ANY_MAP)
    if not place.is_map:
        raise NotConvertible("the members of a value that is no object")
    return replace(term, place=place)


def _keys(names: Names, term: Value) -> Stream:
    # A loop over a map in CEL is a loop over its keys.
    variable = "key"
    while variable in names.taken:
        variable += "_"
    place = term.place
    entries = Place(place.value if term.strict else place.or_value({}))
    presence = cel.TRUE if term.strict else place.is_present()
    item = Place(cel.ident(variable), (), TEXT)
    return Stream((Generator(variable, entries),), item, presence)


@_declare
def values(names: Names, args: Sequence[Term]) -> Term:
    """The values of an object."""
    (term,) = args
    object_ = _object(term)
    found, place = _keys(names, object_), object_.place
    inner = place.type.removeprefix("{}") if place.type.startswith("{}") else "dyn"
    item = Place(cel.index(place.value, found.item.value), (), inner)
    return Stream(found.generators, item, found.presence)


@_declare
def label_match(names: Names, args: Sequence[Term]) -> Term:
    """Return whether an object has all members of another."""
    wanted, labels = args
    if not isinstance(wanted, Value) or not isinstance(labels, Value):
        raise NotConvertible("label_match of values that are no objects")
    variable = "label"
    while variable in names.taken:
        variable += "_"
    place, label = wanted.place.taken_for(ANY_MAP), cel.ident(variable)
    has = cel.contains(labels.place.value, label)
    same = cel.equal(cel.index(labels.place.value, label), cel.index(place.value, label))
    # Where either is not there, the query is an error, and so is this.
    return computed(cel.macro(place.value, "all", variable, conjunction(has, same)), "bool")


@_declare
def to_array(_names: Names, args: Sequence[Term]) -> Term:
    """A list as it is."""
    (term,) = args
    if isinstance(term, Stream) or (isinstance(term, Value) and term.place.is_list):
        return term
    raise NotConvertible("to_array of a value that is no list")


@_declare
def sort(_names: Names, args: Sequence[Term]) -> Term:
    """A list in order: what is asked of it does not depend on the order."""
    (term,) = args
    if isinstance(term, Stream):
        return term
    raise NotConvertible("sort of a value that is no list")


def _text(term: Term) -> Expr:
    match term:
        case Constant(str() as value):
            return cel.literal(value)
        case Value(place) if place.type == TEXT:
            return _there(term).value
    raise NotConvertible("a text is needed where the type is not known")


def _texts(name: str, method: str) -> None:
    def function(_names: Names, args: Sequence[Term]) -> Term:
        first, *others = args
        return computed(cel.method(_text(first), method, *map(_text, others)), TEXT)

    FUNCTIONS[name] = function


def _tests(name: str, method: str) -> None:
    def function(_names: Names, args: Sequence[Term]) -> Term:
        first, second = args
        if not isinstance(first, Value):
            return computed(cel.method(_text(first), method, _text(second)), "bool")
        text = _text(replace(first, strict=True))
        return _if_there(first, cel.method(text, method, _text(second)))

    FUNCTIONS[name] = function


_texts("to_upper", "upperAscii")
_texts("to_lower", "lowerAscii")
_tests("starts_with", "startsWith")
_tests("ends_with", "endsWith")


@_declare
def join(_names: Names, args: Sequence[Term]) -> Term:
    """Texts with a separator between them."""
    separator, parts = args
    match parts:
        case Value(Place(ListLiteral(elements))) if elements:
            glued = [part for each in elements for part in (_text(separator), _undyned(each))]
            return computed(cel.concat(*glued[1:]), TEXT)
        case Stream() if parts.item.type == TEXT:
            return computed(cel.method(parts.required().list(), "join", _text(separator)), TEXT)
        case Value(place) if place.type == "[]string":
            return computed(cel.method(_there(parts).value, "join", _text(separator)), TEXT)
    raise NotConvertible("join of values that may be no texts")


def _undyned(expr: Expr) -> Expr:
    """Return an expression without the `dyn` that lists of several types need."""
    match expr:
        case Call("dyn", None, (inner,)):
            return inner
    return expr


@_declare
def sum_(_names: Names, args: Sequence[Term]) -> Term:
    """The sum of numbers."""
    (term,) = args
    match term:
        case Stream() if term.item.type in ("int", "double"):
            return computed(cel.method(term.required().list(), "sum"), term.item.type)
    raise NotConvertible("the sum of values that may be no numbers")


@_declare
def divide(names: Names, args: Sequence[Term]) -> Term:
    """The quotient of two sizes."""
    names.note(DIVISION)
    first, second = (_size(each) for each in args)
    return computed(cel.compare("/", first, second), "double")


def _size(term: Term) -> Expr:
    """Return a text that is a size, as a number; a text that is none is an error in both."""
    match term:
        case Constant(str() as text) if quantity_or_none(text) and duration_or_none(text) is None:
            return cel.method(cel.call("quantity", text), "asApproximateFloat")
        case Value(place) if place.type == "quantity":
            written = cel.call("string", _there(term).value)
            return cel.method(cel.call("quantity", written), "asApproximateFloat")
        case Value(Place(Call("string", None) as written, ())):
            return cel.method(cel.call("quantity", written), "asApproximateFloat")
    raise NotConvertible("arithmetic of values that may be no sizes")


@_declare
def split(_names: Names, args: Sequence[Term]) -> Term:
    """The parts of a text between separators."""
    text, separator = args
    parts = cel.method(_text(text), "split", _text(separator))
    return Value(Place(parts, (), "[]string"))


@_declare
def regex_match(_names: Names, args: Sequence[Term]) -> Term:
    """Return whether a text matches a regular expression of RE2, which CEL has, too."""
    expression, text = args
    if isinstance(text, Value) and text.place.type != TEXT:
        raise NotConvertible("a regular expression on a value that may be no text")
    return computed(cel.method(_text(text), "matches", _text(expression)), "bool")


@_declare
def to_string(_names: Names, args: Sequence[Term]) -> Term:
    """A text as it is, a number as its text."""
    (term,) = args
    if isinstance(term, Value) and term.place.type == "double":
        # Read as a size, every way of writing a number is the same.
        return replace(term, place=replace(term.place, type="quantity"))
    if isinstance(term, Value) and term.place.type == TEXT:
        return term
    if isinstance(term, Value) and term.place.type in ("int", "bool"):
        return computed(cel.call("string", term.place.value), TEXT)
    raise NotConvertible("to_string of a value whose type is not known")
