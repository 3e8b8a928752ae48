"""Projections: lists read element by element, filtered, and taken apart by a flatten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_LIST, Place
from chartkit.addons.migrate.expressions.place import either as either_type
from chartkit.addons.migrate.expressions.verdict import (
    conjunction,
    either,
    loop_variable,
    names_several,
)
from chartkit.addons.migrate.jmespath.functions.collections import ORDERED, listed, members
from chartkit.addons.migrate.jmespath.lists import (
    Images,
    concatenated,
    element_at,
    literal_elements,
    nested,
    without_null,
)
from chartkit.addons.migrate.jmespath.terms import (
    Choice,
    Constant,
    Generator,
    Members,
    Names,
    Stream,
    Term,
    Value,
    computed,
)
from chartkit.engine.cel.syntax import tree
from chartkit.engine.jmespath.nodes import Kind, Node

if TYPE_CHECKING:
    from chartkit.addons.migrate.jmespath.translate import Translator


def projection(translator: Translator, node: Node, current: Term | None) -> Term:
    """Return a list with an expression of each element: `a[*].b`."""
    left, right = node.children
    elements = translator.left(left, current, decides=True)
    if isinstance(elements, Constant) and isinstance(elements.value, Images):
        # Those of several lists of containers: what is asked of each list is asked of all.
        return translator.node(right, elements)
    if _has_nothing(elements):
        return elements
    return _projected(translator, stream_of(elements, translator.names), right)


def value_projection(translator: Translator, node: Node, current: Term | None) -> Term:
    """Return a list with an expression of each member of an object: `a.*.b`."""
    left, right = node.children
    value = members(translator.names, translator.left(left, current))
    return _projected(translator, value, right)


def filtered(translator: Translator, node: Node, current: Term | None) -> Term:
    """Return a list with an expression of those elements that a condition holds of: `a[?b].c`."""
    left, right, condition = node.children
    elements = translator.left(left, current)
    if _has_nothing(elements):
        return elements
    stream = stream_of(elements, translator.names)
    *outer, last = stream.generators
    inside = translator.inside(stream)
    holds = inside.truth(condition, stream.current)
    may_fail = inside.decides and holds != inside.forgiving().truth(condition, stream.current)
    kept = replace(last, where=conjunction(last.where, holds), may_fail=may_fail)
    return _projected(translator, replace(stream, generators=(*outer, kept)), right)


def flatten(translator: Translator, node: Node, current: Term | None) -> Term:
    """Return a list without the lists that its elements are in: `a[]`, `[a, b][]`."""
    (inner,) = node.children
    parent, listed = current, inner
    if inner.kind is Kind.SUBEXPRESSION:
        parent, listed = translator.left(inner.children[0], current), inner.children[1]
    if listed.kind is Kind.MULTI_SELECT_LIST:
        elements = [
            literal_elements([translator.left(child, parent) for child in element.children])
            if element.kind is Kind.MULTI_SELECT_LIST
            else translator.left(element, parent)
            for element in listed.children
        ]
        joined = concatenated(elements, translator.names.taken)
        if isinstance(parent, Value) and isinstance(joined, Stream):
            return replace(joined, presence=parent.place.is_present())
        return joined
    term = translator.left(inner, current)
    if _has_nothing(term):
        return term
    match term:
        case Stream() if term.depth > 1:
            return replace(term, depth=term.depth - 1)
        case Stream() if not term.item.is_known and names_several(term.item):
            term = replace(term, item=term.item.taken_for(ANY_LIST))
            return nested(without_null(term), term.item, translator.names.taken)
        case Stream() if term.item.is_list:
            return nested(without_null(term), term.item, translator.names.taken)
    stream = stream_of(term, translator.names)
    if isinstance(term, Value) and stream.item.is_list:
        return nested(stream, stream.item, translator.names.taken)
    return stream


def _has_nothing(term: Term) -> bool:
    """Report whether a term is a list without elements, or null, which every projection keeps."""
    return isinstance(term, Constant) and (term.value is None or term.value == [])


def stream_of(term: Term, names: Names) -> Stream:
    """Return a list as a stream of its elements; raises `NotConvertible`."""
    match term:
        case Stream():
            return term.flat().settled()
        case Value(place, _strict):
            place = place.taken_for(ANY_LIST)
            if not place.is_list:
                raise NotConvertible("a value that is not a list is read as one")
            variable = loop_variable(place, names.taken)
            is_literal = isinstance(place.root, tree.ListLiteral)
            if is_literal and place.type == ANY_LIST:
                raise NotConvertible("a list that is written in the expression")
            has_null = is_literal and tree.count(place.root, cel.NULL)
            kept = cel.not_equal(cel.ident(variable), cel.NULL) if has_null else cel.TRUE
            loop = Generator(variable, place, kept)
            return Stream((loop,), place.element(variable), place.is_present())
        case Constant(list()):
            return stream_of(concatenated([term], names.taken), names)
        case Constant():
            raise NotConvertible("a list that is written in the expression")
        case Choice(holds, (Value() | Stream()) as first, (Value() | Stream()) as second):
            lists = [stream_of(part, names) for part in (first, second)]
            left, right = (list_.listed() for list_ in lists)
            whole = cel.conditional(holds, left.value, right.value)
            given = either(holds, *(list_.presence for list_ in lists))
            place = Place(whole, (), either_type(left.type, right.type), given=given)
            return stream_of(Value(place, strict=False), names)
        case Choice():
            raise NotConvertible("a list, or another value, is read as a list")


def _projected(translator: Translator, stream: Stream, node: Node) -> Term:
    if node.kind is Kind.CURRENT:
        return stream
    item = translator.inside(stream).node(node, stream.current)
    stream = replace(stream, members=None)
    match item:
        case Constant(Members() as object_):
            *outer, last = stream.generators
            kept = replace(last, where=conjunction(last.where, object_.given))
            whole = replace(object_, given=cel.TRUE)
            return replace(stream, generators=(*outer, kept), item=whole.place(), members=whole)
        case Value(place):
            return replace(stream, item=place)
        case Stream():
            generators = (*stream.generators, *item.generators)
            depth = stream.depth + item.depth
            return replace(stream, generators=generators, item=item.item, depth=depth)
        case Constant() | Choice():
            raise NotConvertible("a constant for each element of a list")


def sorted_by(translator: Translator, node: Node, current: Term | None) -> Term:
    """Return a list in the order of an expression of each element: `sort_by(a, &b)`."""
    first, second = node.children
    elements = listed(translator.node(first, current), "sort_by")
    variable, key = _of_element(translator, elements, second)
    if key.type not in ORDERED or (key.is_optional and not translator.decides):
        raise NotConvertible("sort_by of keys whose types are not known, or that may be absent")
    ordered = cel.macro(elements.value, "sortBy", variable, key.value)
    return computed(ordered, elements.type)


def _best(translator: Translator, node: Node, current: Term | None, *, greatest: bool) -> Term:
    """Return the first element of which an expression is the greatest or the least; null of no
    element."""
    if greatest:
        # Reversed before and after it is sorted, a list begins with the first of its greatest.
        reverse = Node(Kind.FUNCTION_EXPRESSION, "reverse", (node.children[0],))
        node = replace(node, children=(reverse, *node.children[1:]))
    elements = sorted_by(translator, node, current)
    if greatest and isinstance(elements, Value):
        elements = computed(cel.method(elements.place.value, "reverse"), elements.place.type)
    return element_at(elements, 0)


def mapped(translator: Translator, node: Node, current: Term | None) -> Term:
    """Return an expression of each element of a list: `map(&b, a)`."""
    first, second = node.children
    elements = listed(translator.node(second, current), "map")
    variable, value = _of_element(translator, elements, first)
    if value.is_optional:
        raise NotConvertible("map to what may be absent, which is null in the list")
    made = cel.macro(elements.value, "map", variable, value.value)
    return computed(made, f"[]{value.type}")


def _of_element(translator: Translator, elements: Place, node: Node) -> tuple[str, Place]:
    """Return the variable of a loop, and a reference to an expression as it is of an element."""
    if node.kind is not Kind.EXPREF:
        raise NotConvertible("a function of each element without a reference to an expression")
    variable = loop_variable(elements, translator.names.taken)
    loop = Stream((Generator(variable, elements),), elements.element(variable))
    value = translator.inside(loop).node(node.children[0], loop.current)
    if not isinstance(value, Value):
        raise NotConvertible("a function of each element that gives no single value")
    return variable, value.place


BY_EXPRESSION: Final[dict[str, Callable[[Translator, Node, Term | None], Term]]] = {
    "sort_by": sorted_by,
    "map": mapped,
    "max_by": partial(_best, greatest=True),
    "min_by": partial(_best, greatest=False),
}
"""The functions of each element of a list, by name."""
