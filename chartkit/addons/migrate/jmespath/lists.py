"""Lists: their elements by number, several lists as one, and the images of a Pod by name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.build import Operand
from chartkit.addons.migrate.expressions.place import (
    ANY_LIST,
    IMAGE_REFERENCE,
    MIXED,
    TEXT,
    UNKNOWN,
    Place,
    either,
)
from chartkit.addons.migrate.expressions.verdict import conjunction, loop_variable, names_several
from chartkit.addons.migrate.jmespath.terms import (
    Constant,
    Generator,
    Stream,
    Term,
    Value,
    computed,
    is_json,
    mixed,
    type_of,
)
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import ListLiteral, Literal, count

LISTS: Final = ("containers", "initContainers", "ephemeralContainers")


@dataclass(frozen=True, slots=True)
class Images:
    """The images of a list of containers, by the names of these; containers: the list."""

    containers: Place

    def of_container(self, name: Expr, element: Term | None) -> Term:
        """Return the image of a container that a loop is at; raises `NotConvertible`."""
        at = element.place if isinstance(element, Value) else self.containers
        if at.path == f"{self.containers.path}[]" and at.child("name").value == name:
            return Value(_reference(at))
        raise NotConvertible("the image of a container that is not the element of a loop")

    def all(self, variable: str) -> Stream:
        """Return the images as a stream; variable: of the loop over containers."""
        image = _reference(self.containers.element(variable))
        some = cel.compare(">", cel.method(self.containers.or_value([]), "size"), 0)
        loop = Generator(variable, self.containers)
        return Stream((loop,), image, conjunction(self.containers.is_present(), some))


def _reference(container: Place) -> Place:
    image = container.child("image")
    given = conjunction(image.is_present(), cel.not_equal(image.settled().value, ""))
    return replace(image.settled(), type=IMAGE_REFERENCE, given=given)


def part_of(reference: Place, part: str) -> Place:
    """Return a part of an image reference, which may be absent; raises `NotConvertible`."""
    if part not in _PARTS:
        raise NotConvertible(f"the part {part} of an image")
    image = reference.settled().value
    value, given = (cel.filled(template, image=image) for template in _PARTS[part])
    return Place(value, (), TEXT, given=conjunction(reference.given, given))


NORMALIZED: Final = "image_normalize"
_REGISTRY: Final = "regex.extract(image, '^([^/]*[.:A-Z][^/]*|localhost)/').orValue('docker.io')"
_PATH: Final = "regex.extract(image, '^(?:(?:[^/]*[.:A-Z][^/]*|localhost)/)?([^:@]+)').value()"
_DIGEST: Final = "regex.extract(image, '@(.+)$').value()"
_HAS_DIGEST: Final = "image.contains('@')"
_TAG_FORM: Final = "'^[^@]*:([^/:@]+)(?:@|$)'"
_TAG: Final = f"regex.extract(image, {_TAG_FORM})"
# Next to a digest, there is no tag that is not written.
_IMPLIED_TAG: Final = f"({_HAS_DIGEST} ? {_TAG}.value() : {_TAG}.orValue('latest'))"
_PARTS: Final = {
    "registry": (_REGISTRY, "true"),
    "path": (_PATH, "true"),
    "tag": (_IMPLIED_TAG, f"!{_HAS_DIGEST} || image.matches({_TAG_FORM})"),
    "digest": (_DIGEST, _HAS_DIGEST),
    "name": ("regex.extract(image, '^(?:.*/)?([^/:@]+)(?:[:@]|$)').value()", "true"),
    "referenceWithTag": (
        f"{_REGISTRY} + '/' + {_PATH} + ':' + "
        f"({_HAS_DIGEST} ? {_TAG}.orValue('') : {_IMPLIED_TAG})",
        "true",
    ),
    NORMALIZED: (
        f"{_REGISTRY} + '/' + {_PATH} + "
        f"({_HAS_DIGEST} ? '@' + {_DIGEST} : ':' + {_TAG}.orValue('latest'))",
        "true",
    ),
}
"""By name of a part: its text, and the condition under which an image has it."""


def is_list(term: Term) -> bool:
    """Report whether a term is known to be a list."""
    return isinstance(term, Stream) or (isinstance(term, Value) and term.place.is_list)


_NUMBERS: Final = ("int", "double")


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
        case Value(place, strict):
            place = place.taken_for(ANY_LIST)
            if not place.is_list:
                raise NotConvertible("an element of a value that is not a list")
            # Without a list there is an error, without the element null.
            place = place.settled() if strict else place
        case Stream():
            place = term.listed()
    element = place.at(index) if index >= 0 else from_end(place, index)
    if isinstance(term, Stream):
        element = replace(element, path=term.item.path)
    return Value(element, strict=False)


def from_end(place: Place, index: int) -> Place:
    """Return the place of an element of a list that is counted from the end: -1 is the last."""
    elements = place.or_value([])
    size = cel.method(elements, "size")
    at = replace(place, root=elements, optional=(), given=cel.TRUE).at(0)
    element = cel.index(elements, cel.compare("-", size, -index))
    return replace(at, root=element, optional=(), given=cel.compare(">=", size, -index))


def sliced(term: Term, start: int | None, stop: int | None, step: int | None) -> Term:
    """Return a part of a list, null where there is none; raises `NotConvertible`."""
    match term:
        case Constant(list() as value) if step != 0:
            return Constant(value[start:stop:step])
        case Constant(value) if is_json(value):
            return Constant(None)
        case Value(place) if not place.is_known and place.path.endswith("[]"):
            raise NotConvertible("a part of a list within a list")
        case Value(place):
            place = place.taken_for(ANY_LIST)
        case Stream():
            place = replace(term.listed(), given=term.presence)
    if not place.is_list or step not in (None, 1):
        raise NotConvertible("every second element of a list, or the last first")
    given, elements = place.is_present(), place.settled().value
    size = cel.method(elements, "size")
    first, end = _bound(start, size, 0), _bound(stop, size, size)
    if None not in (start, stop) and ((start or 0) < 0) != ((stop or 0) < 0):
        raise NotConvertible("a part of a list between its start and its end")
    if start is not None and stop is not None and start > stop:
        return Value(replace(place, root=cel.list_of([]), optional=(), given=given), strict=False)
    part = cel.method(elements, "slice", first, end)
    return Value(replace(place, root=part, optional=(), given=given), strict=False)


def _bound(at: int | None, size: Expr, default: Operand) -> Operand:
    """Return a bound of a slice, within the list; negative ones count from the end."""
    if at is None:
        return default
    math = cel.ident("math")
    if at >= 0:
        return cel.method(math, "least", at, size) if at else 0
    return cel.method(math, "greatest", cel.compare("-", size, -at), 0)


def concatenated(terms: Sequence[Term], taken: Collection[str]) -> Term:
    """Return what a flatten makes of several values: lists one after the other, and other values
    as elements.

    taken: the names of variables in use. Raises `NotConvertible`.
    """
    images = [term.value for term in terms if isinstance(term, Constant)]
    images = [image for image in images if isinstance(image, Images)]
    if images and len(images) == len(terms):
        return Constant(Images(_sum([image.containers for image in images])))
    parts = [part for part in map(_part, terms) if part is not None]
    if not parts:
        raise NotConvertible("a list made of several values, all of them null")
    total = _sum(parts)
    variable = loop_variable(total, taken)
    return Stream((Generator(variable, total),), total.element(variable))


def _part(term: Term) -> Place | None:
    """Return a value as a list to be joined with others; None for null."""
    match term:
        case Constant(None):
            return None
        case Constant(value) if is_json(value):
            elements = value if isinstance(value, list) else [value]
            types = {type_of(Constant(element)) for element in elements}
            inner = types.pop() if len(types) == 1 else UNKNOWN
            return Place(cel.list_of(mixed(map(Constant, elements))), (), f"[]{inner}")
        case Stream():
            if term.members is None and not names_several(term.item):
                term = replace(term, item=term.item.taken_for(TEXT))
            return term.listed()
        case Value(place):
            place = place.taken_for(ANY_LIST if names_several(place) else TEXT)
            return place if place.is_list else _single(place)
    raise NotConvertible("a list made of several values")


def _single(place: Place) -> Place:
    """Return a value that is not a list as a list of one, empty where it is not there."""
    single = cel.list_of([place.value])
    present = place.is_present()
    value = single if present == cel.TRUE else cel.conditional(present, single, cel.list_of([]))
    return Place(value, (), f"[]{place.type}", place.path, assumed=place.assumed)


def literal_elements(terms: Sequence[Term]) -> Term:
    """Return values as a list that is an element of a list of several values, for `concatenated`:
    a flatten takes it apart, and not what it holds. Raises `NotConvertible`."""
    for term in terms:
        type_ = type_of(term)
        if type_ == UNKNOWN or type_.startswith("[]"):
            raise NotConvertible("a list in a list that is written in the expression")
    parts = [part for part in map(_part, terms) if part is not None]
    return Value(_sum(parts)) if parts else Constant([])


def _sum(places: Sequence[Place]) -> Place:
    """Return lists as one, those first that are always there."""
    if len(places) == 1 and not places[0].is_optional:
        return places[0]
    inner = {place.type.removeprefix("[]") for place in places}
    if len(inner) > 1 and inner <= {*_NUMBERS}:
        places = [_of_doubles(list_) for list_ in places]
        inner = {"double"}
    first, *others = sorted(places, key=lambda list_: list_.is_optional)
    total = first.or_value([])
    for place in others:
        total = cel.compare("+", total, place.or_value([]))
    type_ = reduce(either, sorted(inner))
    return Place(total, (), f"[]{MIXED if type_ == UNKNOWN else type_}")


def _of_doubles(place: Place) -> Place:
    if place.type == "[]double":
        return place
    match place.root:
        case ListLiteral(elements) if not place.optional:
            doubles: Expr = cel.list_of(map(_double, elements))
        case _:
            number = cel.call("double", cel.ident("number"))
            doubles = cel.macro(place.or_value([]), "map", "number", number)
    return Place(doubles, (), "[]double", place.path)


def _double(number: Expr) -> Expr:
    match number:
        case Literal(int() as value):
            return cel.literal(float(value))
    return cel.call("double", number)


def without_null(stream: Stream) -> Stream:
    """Return a stream of lists without the null in place of a missing list among several values."""
    *outer, last = stream.generators
    if not isinstance(last.elements.root, ListLiteral):
        return stream
    given = cel.not_equal(stream.item.value, cel.NULL)
    kept = replace(last, where=conjunction(last.where, given))
    return replace(stream, generators=(*outer, kept))


def nested(outer: Stream, inner: Place, taken: Collection[str]) -> Stream:
    """Return the elements of lists that are the items of a stream."""
    match inner.root, inner.optional:
        case ListLiteral((element,)), ():
            # A list of one value, made for each item: the value itself.
            given = cel.not_equal(element, cel.NULL) if count(element, cel.NULL) else cel.TRUE
            given = conjunction(inner.given, given)
            place = replace(inner, root=element, type=inner.type.removeprefix("[]"), given=given)
            return replace(outer, item=place)
    taken = {*taken, *(generator.variable for generator in outer.generators)}
    variable = loop_variable(inner, taken)
    loop = Generator(variable, inner)
    return Stream((*outer.generators, loop), inner.element(variable), outer.presence)


def list_of_terms(terms: Sequence[Term]) -> Value:
    """Return terms as a list."""
    types = sorted(set(map(type_of, terms)))
    inner = reduce(either, types) if types else UNKNOWN
    return computed(cel.list_of(mixed(terms)), f"[]{inner}")
