"""Lists: their elements by number, from the start or from the end, and several lists as one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.tree import ListLiteral
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.expressions.names import loop_variable
from chartkit.migration.expressions.place import ANY_LIST, Place
from chartkit.migration.expressions.verdict import conjunction
from chartkit.migration.jmespath.terms import Constant, Generator, Stream, Term, Value


def element_at(term: Term, index: int) -> Term:
    """Return an element of a list, null where there is none; raises `NotConvertible`."""
    match term:
        case Constant(list() as value):
            return Constant(value[index] if -len(value) <= index < len(value) else None)
        case Constant():
            return Constant(None)
        case Value(place) if not place.is_known and place.path.endswith("[]"):
            # A flatten before would have taken lists within the list apart.
            raise NotConvertible("an element of a list within a list")
        case Value(place):
            place = place.taken_for(ANY_LIST)
            if not place.is_list:
                raise NotConvertible("an element of a value that is no list")
        case Stream():
            place = term.listed()
    return Value(place.at(index) if index >= 0 else _from_end(place, index), strict=False)


def _from_end(place: Place, index: int) -> Place:
    """Return an element counted from the end: -1 is the last."""
    elements = place.or_value([])
    size = cel.method(elements, "size")
    at = replace(place, root=elements, optional=(), given=cel.TRUE).at(0)
    element = cel.index(elements, cel.compare("-", size, -index))
    return replace(at, root=element, optional=(), given=cel.compare(">=", size, -index))


def concatenated(terms: Sequence[Term], taken: Collection[str]) -> Stream:
    """Return lists one after the other; taken: the names of variables in use."""
    places = [term.place for term in terms if isinstance(term, Value)]
    if len(places) != len(terms) or not all(place.is_list for place in places):
        raise NotConvertible("a list made of several values")
    first, *others = sorted(places, key=lambda each: each.is_optional)
    total = first.or_value([])
    for place in others:
        total = cel.compare("+", total, place.or_value([]))
    inner = sorted({place.type.removeprefix("[]") for place in places})
    named = Place(total, (), "[]" + "|".join(inner))
    variable = loop_variable(places[0], taken)
    return Stream((Generator(variable, named),), named.element(variable))


def without_null(stream: Stream) -> Stream:
    """Return a stream of lists without the null that stands for one in a list of several values."""
    *outer, last = stream.generators
    if not isinstance(last.elements.root, ListLiteral):
        return stream
    given = cel.not_equal(stream.item.value, cel.NULL)
    kept = replace(last, where=conjunction(last.where, given))
    return replace(stream, generators=(*outer, kept))
