"""Lists and objects: what they hold, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import (
    ANY_LIST,
    ANY_MAP,
    SIZE,
    SPAN,
    TEXT,
    TIME,
    UNKNOWN,
    Place,
)
from chartkit.addons.migrate.expressions.presence import cannot_fail, where_there
from chartkit.addons.migrate.expressions.verdict import (
    conjunction,
    disjunction,
    loop_variable,
    names_several,
)
from chartkit.addons.migrate.jmespath.comparisons import chosen
from chartkit.addons.migrate.jmespath.functions.declaration import (
    constant_text,
    declare,
    text_or_field,
    there,
)
from chartkit.addons.migrate.jmespath.lists import Images, element_at
from chartkit.addons.migrate.jmespath.terms import (
    Constant,
    Generator,
    Members,
    Names,
    Stream,
    Term,
    Value,
    computed,
    expression_of,
    is_json,
    mixed,
    type_of,
)
from chartkit.engine.cel.syntax import Expr, tree
from chartkit.model import Json

ORDERED: Final = (TEXT, "int", "double")
"""The types of what both languages put in the same order."""


_WITHOUT_LENGTH: Final = ("int", "double", "bool")


@declare
def length(names: Names, args: Sequence[Term]) -> Term:
    """The number of elements, members or characters."""
    (term,) = args
    match term:
        case Constant(Images()):
            return length(names, [members(names, term)])
        case Stream():
            return computed(term.required().size(), "int")
        case Value(place) if place.type not in _WITHOUT_LENGTH:
            size = computed(cel.method(there(term).value, "size"), "int")
            # Only of what may be absent, or of another type, there is none.
            is_sure = place.is_known and not (place.is_optional or term.fails)
            return replace(size, strict=not (is_sure and cannot_fail(place.root)))
        case Constant(str() | list() | dict() as value):
            return Constant(len(value))
    raise NotConvertible("the length of a value that has none")


@declare
def contains(names: Names, args: Sequence[Term]) -> Term:
    """Report whether a list has an element or a text a part."""
    where, what = args
    part = expression_of(what)
    match where:
        case Constant(list() as values):
            return computed(cel.contains(cel.list_of(values), part), "bool")
        case Stream() if where.is_keys and isinstance(what, Constant):
            present = where.generators[0].elements.child(str(what.value)).is_present()
            return computed(present, "bool")
        case Stream():
            return computed(where.exists(lambda item: cel.equal(item.value, part)), "bool")
        case Value(place) if place.is_list:
            return computed(cel.contains(place.value, part), "bool")
        case Value(place) if place.type == TEXT and type_of(what) == TEXT:
            part = there(what).value if isinstance(what, Value) else part
            return computed(cel.method(place.value, "contains", part), "bool")
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
        raise NotConvertible("the members of a value that is not an object")
    return replace(term, place=place)


def _keys(names: Names, term: Value) -> Stream:
    # A loop over a map in CEL is a loop over its keys.
    variable = "key"
    while variable in names.taken:
        variable += "_"
    place = term.place
    match place.value:
        case tree.Select(tree.Select(tree.Ident("variables")) | tree.Call()) as field:
            # Of the answer of an API, the checker knows no type that a loop takes.
            place = replace(place, root=cel.call("dyn", field), optional=())
    entries = place.settled() if term.strict else place
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
    if isinstance(term, Constant) and isinstance(term.value, Images):
        return term.value.all(loop_variable(term.value.containers, names.taken))
    object_ = _object(term)
    stream, place = _keys(names, object_), object_.place
    inner = place.type.removeprefix("{}") if place.type.startswith("{}") else "dyn"
    path = f"{place.path}.*" if place.path else ""
    value = cel.index(where_there(place.value), stream.item.value)
    item = replace(place.settled(), root=value, type=inner, path=path)
    return Stream(stream.generators, item, stream.presence)


@declare
def items(names: Names, args: Sequence[Term]) -> Term:
    """The members of an object as objects of a key and a value."""
    object_, key_name, value_name = args
    stream = members(names, object_)
    key = stream.generators[-1].variable
    called = [
        constant_text(name, "the name of a key or a value") for name in (key_name, value_name)
    ]
    terms = {called[0]: computed(cel.ident(key), TEXT), called[1]: Value(stream.item)}
    made = Members(terms)
    return replace(stream, item=made.place(), members=made)


@declare
def lookup(_names: Names, args: Sequence[Term]) -> Term:
    """The member of an object, or the element of a list; null where there is none."""
    where, key = args
    if isinstance(where, Constant) and isinstance(where.value, dict):
        types = {type_of(Constant(value)) for value in where.value.values()}
        where = computed(expression_of(where), f"{{}}{types.pop() if len(types) == 1 else UNKNOWN}")
    if not isinstance(where, Value):
        raise NotConvertible("lookup in a value that is computed")
    # Where there is nothing to look in, it is an error.
    place = there(where).settled()
    if isinstance(key, Constant) and isinstance(key.value, int):
        return element_at(Value(place), key.value) if key.value >= 0 else Constant(None)
    place = place.taken_for(ANY_MAP)
    if not place.type.startswith("{}"):
        raise NotConvertible("lookup in a value that is not a map")
    return Value(place.entry(text_or_field(key)), strict=False)


@declare
def not_null(_names: Names, args: Sequence[Term]) -> Term:
    """The first value that is not null."""
    first: Term = Constant(None)
    for term in reversed(args):
        match term:
            case Constant(value) if is_json(value):
                first = first if value is None else term
            case Stream():
                first = chosen(term.presence, replace(term, presence=cel.TRUE), first)
            case Value(place):
                first = _or_else(place, first)
            case _:
                raise NotConvertible("a value of not_null that is not known")
    return first


def _or_else(place: Place, other: Term) -> Term:
    """Return a value, or another where there is none."""
    if place.type == UNKNOWN and place.path:
        raise NotConvertible("not_null of a value whose type is not known, which may be null")
    if isinstance(other, Constant) and type_of(other) == place.type:
        return computed(place.or_value(cel.literal(other.value)), place.type)
    if type_of(other) == place.type and isinstance(other, Value) and not other.place.is_optional:
        return computed(place.or_value(other.place.value), place.type)
    present = place.is_present()
    if isinstance(other, Value) and other.place.is_optional:
        chain = chosen(present, Value(place.settled()), Value(other.place.settled()))
        if isinstance(chain, Value) and chain.place.given == cel.TRUE:
            given = disjunction(present, other.place.is_present())
            return Value(replace(chain.place, given=given), strict=False)
    return chosen(present, Value(place.settled()), other)


@declare
def label_match(names: Names, args: Sequence[Term]) -> Term:
    """Report whether an object has all members of another."""
    wanted, labels = args
    written = _written(wanted)
    if written is not None:
        place = there(_object(labels)).settled()
        tests = (
            cel.equal(place.child(key).or_value(cel.NULL), value) for key, value in written.items()
        )
        return computed(conjunction(*tests), "bool")
    if not isinstance(wanted, Value) or not isinstance(labels, Value):
        raise NotConvertible("label_match of values that are not objects")
    variable = "label"
    while variable in names.taken:
        variable += "_"
    place, label = wanted.place.taken_for(ANY_MAP), cel.ident(variable)
    has = cel.contains(labels.place.value, label)
    same = cel.equal(cel.index(labels.place.value, label), cel.index(place.value, label))
    # Where either is not there, the query is an error, and so is this.
    return computed(cel.macro(place.value, "all", variable, conjunction(has, same)), "bool")


def _written(term: Term) -> Mapping[str, Json] | None:
    """Return an object whose members are all written out; None for another term."""
    match term:
        case Constant(dict() as members):
            return members
        case Constant(Members(terms, given)) if given == cel.TRUE:
            members = {key: term.value for key, term in terms.items() if isinstance(term, Constant)}
            return members if len(members) == len(terms) else None
    return None


_KEY, _VALUE = "key", "value"
_MERGED: Final = """
cel.bind(entries, pairs, transform.listObjToMap(entries, entries, 'key', 'value'))
"""


@declare
def merge(_names: Names, args: Sequence[Term]) -> Term:
    """One object of several; later members take the place of earlier ones."""
    lists = list(map(_entries, args))
    types = {arg.place.type for arg in args if isinstance(arg, Value)}
    type_ = types.pop() if len(types) == 1 and len(args) == len(lists) else ANY_MAP
    # Kyverno cannot read the objects of lists that + joins (kyverno/sdk, transform/impl.go).
    total = (
        lists[0]
        if len(lists) == 1
        else cel.method(cel.list_of(mixed(map(computed, lists))), "flatten")
    )
    return computed(_map_of(total), type_ if type_.startswith("{}") else ANY_MAP)


def _entries(term: Term) -> Expr:
    """Return the members of an object as a list of objects of a key and a value."""
    match term:
        case Constant(dict() as written):
            return _entries(Constant(Members({k: Constant(v) for k, v in written.items()})))
        case Constant(Members() as members) if members.given == cel.TRUE:
            values = members.terms.values()
            pairs = list(zip(map(cel.literal, members.terms), mixed(values), strict=True))
        case Value(Place(tree.MapLiteral(entries), ())):
            pairs = [(entry.key, entry.value) for entry in entries]
        case Value():
            object_ = _object(term)
            there(object_)
            key = cel.ident(_KEY)
            member = cel.index(where_there(object_.place.value), key)
            pair = cel.map_of({_KEY: key, _VALUE: member})
            return cel.macro(object_.place.value, "map", _KEY, pair)
        case _:
            raise NotConvertible("merge of values that are not objects")
    return cel.list_of(_pair(key, value) for key, value in pairs)


def _pair(key: Expr, value: Expr) -> Expr:
    return cel.map_of(dict(zip((_KEY, _VALUE), mixed(map(computed, (key, value))), strict=True)))


def _map_of(entries: Expr) -> Expr:
    """Return pairs of keys and values as one object."""
    return cel.filled(_MERGED, pairs=entries)


@declare
def object_from_lists(_names: Names, args: Sequence[Term]) -> Term:
    """An object with its names from one list, of texts, and its values from another."""
    names, values = (listed(arg, "object_from_lists") for arg in args)
    if names.type != f"[]{TEXT}":
        raise NotConvertible("object_from_lists of names that might not be strings")
    value = cel.filled("at < list.size() ? dyn(list[at]) : null", list=values.value)
    pair = _pair(cel.index(names.value, cel.ident("at")), value)
    made = cel.filled("lists.range(list.size()).map(at, pair)", list=names.value, pair=pair)
    return computed(_map_of(made), ANY_MAP)


_TYPE_NAMES: Final = {TEXT: "string", "bool": "boolean", "int": "number", "double": "number"}
_TYPE: Final = """
value == null ? 'null' : type(value) == string ? 'string' : type(value) == bool ? 'boolean' :
type(value) == list ? 'array' : type(value) == map ? 'object' : 'number'
"""


@declare
def type_(_names: Names, args: Sequence[Term]) -> Term:
    """The name of a value's type."""
    (term,) = args
    if isinstance(term, Stream) and term.members is None:
        return either_text(term.presence, "array", "null")
    if not isinstance(term, Value):
        raise NotConvertible("the type of a value that is computed")
    place = term.place
    name = "array" if place.is_list else "object" if place.is_map else _TYPE_NAMES.get(place.type)
    if name is not None:
        return either_text(place.is_present(), name, "null")
    if place.type in (TIME, SPAN, SIZE):
        return Constant("string")
    return computed(cel.filled(_TYPE, value=place.or_value(cel.NULL)), TEXT)


def either_text(test: Expr, then: str, otherwise: str) -> Term:
    """Return one of two texts by a test."""
    return chosen(test, Constant(then), Constant(otherwise))


@declare
def to_array(_names: Names, args: Sequence[Term]) -> Term:
    """A list as it is."""
    (term,) = args
    if isinstance(term, Stream):
        # Of null it is a list that holds null, which is not an error.
        return replace(term, presence=cel.TRUE, strict=False)
    if isinstance(term, Value) and term.place.is_list:
        return term
    raise NotConvertible("to_array of a value that is not a list")


@declare
def sort(_names: Names, args: Sequence[Term]) -> Term:
    """A list in ascending order."""
    elements = listed(args[0], "sort")
    inner = elements.type.removeprefix("[]")
    if inner not in ORDERED:
        raise NotConvertible("sort of values whose types are not known")
    return computed(cel.method(elements.value, "sort"), elements.type)


@declare
def reverse(_names: Names, args: Sequence[Term]) -> Term:
    """A list with its last element first."""
    (term,) = args
    if isinstance(term, Constant) and isinstance(term.value, str | list):
        return Constant(term.value[::-1])
    elements = listed(term, "reverse")
    return computed(cel.method(elements.value, "reverse"), elements.type)


def listed(term: Term, role: str) -> Place:
    """Return a list that must be there; raises `NotConvertible`."""
    match term:
        case Stream():
            return term.required().listed()
        case Value():
            place = replace(term, place=term.place.taken_for(ANY_LIST))
            if place.place.is_list:
                return there(place)
    raise NotConvertible(f"{role} of a value that is not a list")
