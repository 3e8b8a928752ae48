"""Lists and objects: what they hold, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chartkit.engine.cel.syntax import build as cel
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.expressions.names import names_several
from chartkit.migration.expressions.place import ANY_LIST, ANY_MAP, TEXT, Place
from chartkit.migration.expressions.verdict import conjunction
from chartkit.migration.jmespath.environment import Names
from chartkit.migration.jmespath.functions.declaration import declare, if_there, there
from chartkit.migration.jmespath.terms import (
    Constant,
    Generator,
    Stream,
    Term,
    Value,
    computed,
    expression_of,
)


@declare
def length(_names: Names, args: Sequence[Term]) -> Term:
    """The number of elements, members or characters."""
    (term,) = args
    match term:
        case Stream():
            return computed(term.required().size(), "int")
        case Value():
            return computed(cel.method(there(term).value, "size"), "int")
        case Constant(str() | list() | dict() as value):
            return Constant(len(value))
    raise NotConvertible("the length of a value that has none")


@declare
def contains(names: Names, args: Sequence[Term]) -> Term:
    """Return whether a list has an element or a text a part."""
    where, what = args
    part = expression_of(what)
    match where:
        case Stream():
            return computed(where.exists(lambda item: cel.equal(item.value, part)), "bool")
        case Value(place) if place.is_list:
            return if_there(where, cel.contains(place.value, part))
        case Value(place) if place.type == TEXT:
            return if_there(where, cel.method(place.value, "contains", part))
        case Value(place) if not place.is_known:
            kind = ANY_LIST if names_several(place) else TEXT
            return contains(names, [replace(where, place=place.taken_for(kind)), what])
    raise NotConvertible("contains of a value whose type is not known")


@declare
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


@declare
def values(names: Names, args: Sequence[Term]) -> Term:
    """The values of an object."""
    (term,) = args
    return members(names, term)


def members(names: Names, term: Term) -> Stream:
    """Return the values of an object, one by one; raises `NotConvertible`."""
    object_ = _object(term)
    found, place = _keys(names, object_), object_.place
    inner = place.type.removeprefix("{}") if place.type.startswith("{}") else "dyn"
    path = f"{place.path}.*" if place.path else ""
    value = cel.index(place.value, found.item.value)
    item = replace(place.settled(), root=value, type=inner, path=path)
    return Stream(found.generators, item, found.presence)


@declare
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


@declare
def to_array(_names: Names, args: Sequence[Term]) -> Term:
    """A list as it is."""
    (term,) = args
    if isinstance(term, Stream) or (isinstance(term, Value) and term.place.is_list):
        return term
    raise NotConvertible("to_array of a value that is no list")


@declare
def sort(_names: Names, args: Sequence[Term]) -> Term:
    """A list in order: what is asked of it does not depend on the order."""
    (term,) = args
    if isinstance(term, Stream):
        return term
    raise NotConvertible("sort of a value that is no list")
