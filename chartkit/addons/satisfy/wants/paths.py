"""The fields that an expression of JMESPath reads, and when it is true, where it does no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from chartkit.addons.satisfy.formula import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Place,
    Some,
    Source,
    all_of,
    any_of,
    atoms,
    every,
    opposite,
    tested,
    truth,
)
from chartkit.addons.satisfy.values import MISSING, Test, negated, present
from chartkit.addons.satisfy.wants.comparisons import (
    FLIPPED,
    PARTS,
    NotReadError,
    comparison,
    function_test,
    of_part,
)
from chartkit.addons.satisfy.wants.pattern import fresh
from chartkit.engine.context.variables.syntax import find_variables, is_whole
from chartkit.engine.jmespath.compiler import is_false
from chartkit.engine.jmespath.expression import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import Comparator, parse
from chartkit.model import Body, Json

_BOOLEAN: Final = frozenset(("contains", "starts_with", "ends_with", "regex_match"))
_SIGNS: Final = dict(zip(Comparator, FLIPPED, strict=True))
_tree: Final = lru_cache(maxsize=2048)(parse)
_ALL_IMAGES: Final = "images"
_IMAGES: Final = "images of a list"
_IMAGE: Final = "image"
_FULL: Final = Test("set", lambda value: value is not MISSING and not is_false(value))


@dataclass(frozen=True, slots=True)
class Stream:
    """The value of a field, or one for every element of the lists that loops go through; condition:
    what an element must meet to count; part: the part of the image there, empty for the whole
    value."""

    loops: tuple[tuple[str, Place], ...]
    place: Place
    condition: Formula = TRUE
    part: str = ""

    def child(self, name: str | int) -> Stream:
        """Return the stream of a field below."""
        return replace(self, place=self.place.child(name))

    def elements(self) -> Stream:
        variable = fresh()
        loops = (*self.loops, (variable, self.place))
        return Stream(loops, Place(variable), self.condition)

    def narrowed(self, condition: Formula) -> Stream:
        """Return the stream of the values that meet a condition as well."""
        return replace(self, condition=all_of(self.condition, condition))

    def of(self, part: Callable[[Place], Formula]) -> Formula:
        formula = part(self.place)
        name = self.part
        return tested(formula, lambda test: of_part(test, name)) if name else formula

    def _present(self, formula: Formula) -> Formula | None:
        """The formula that a field of a list's elements is there."""
        source = next((atom.source for atom in atoms(formula)), None)
        if source is None or not self.loops or not self.place.steps:
            return None
        return Atom(self.place, present(), source)

    def every(self, part: Callable[[Place], Formula]) -> Formula:
        """Return a formula for every value."""
        formula = self.of(part)
        if (there := self._present(formula)) is not None:
            formula = any_of(formula, opposite(there))
        if self.condition is not TRUE:
            formula = any_of(opposite(self.condition), formula)
        for variable, listed in reversed(self.loops):
            formula = every(variable, listed, formula)
        return formula

    def some(self, part: Callable[[Place], Formula]) -> Formula:
        formula = self.of(part)
        there = self._present(formula)
        formula = all_of(self.condition, *((there,) if there is not None else ()), formula)
        for variable, listed in reversed(self.loops):
            formula = Some(variable, listed, formula)
        return formula


@dataclass(frozen=True, slots=True)
class Reading:
    """The fields that an expression reads.

    is_list: whether the streams are the members of one list; function: of the value, with its
    literal arguments; otherwise: what is read where the value is empty; constant: where nothing is
    read; is_size: whether it is computed with, so that sizes are compared; condition: of a truth
    that was asked for instead of a value.
    """

    streams: tuple[Stream, ...] = ()
    is_list: bool = False
    function: str = ""
    arguments: tuple[Json, ...] = ()
    otherwise: Reading | None = None
    constant: Json = None
    is_size: bool = False
    condition: Formula | None = None

    @property
    def is_constant(self) -> bool:
        return not (self.streams or self.function or self.condition)


Names = Mapping[str, Reading]
"""The readings behind names of expressions: `element`, and entries of the context."""

_OBJECT: Final = Reading((Stream((), Place()),))
_OF_REQUEST: Final = {"object": _OBJECT, "operation": Reading(constant="CREATE")}


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads expressions; source: where they are written."""

    names: Names
    source: Source

    def key(self, text: Json) -> Reading:
        """Return the reading of a condition's key. Raises NotReadError."""
        variables = find_variables(text) if isinstance(text, str) else []
        if not variables:
            return Reading(constant=text)
        if not is_whole(variables, text):
            raise NotReadError
        return self.expression(variables[0].query)

    def expression(self, text: str) -> Reading:
        """Return the reading of an expression. Raises NotReadError."""
        try:
            return self._read(_tree(text), None)
        except (JMESPathError, RecursionError):
            raise NotReadError from None

    def constant(self, value: Json) -> Json:
        """Return a condition's value, constants in place of their names. Raises NotReadError."""
        if isinstance(value, list):
            return [self.constant(member) for member in value]
        if not _has_variables(value):
            return value
        reading = self.key(value) if isinstance(value, str) else Reading(function="?")
        if not reading.is_constant:
            raise NotReadError
        return reading.constant

    def _read(self, node: Node, current: Reading | None) -> Reading:
        children = node.children
        match node.kind:
            case Kind.FIELD:
                name = node.value
                return self._named(name) if current is None else _child(current, name)
            case Kind.CURRENT | Kind.IDENTITY if current is not None:
                return current
            case Kind.LITERAL:
                return Reading(constant=node.value)
            case Kind.SUBEXPRESSION | Kind.PIPE | Kind.INDEX_EXPRESSION:
                return self._read(children[1], self._read(children[0], current))
            case Kind.INDEX if current is not None and not current.is_list and node.value >= 0:
                return _child(current, int(node.value))
            case Kind.OR_EXPRESSION:
                left, right = (self._read(child, current) for child in node.children)
                if left.condition is not None or right.condition is not None:
                    return Reading(condition=self.truth(node, current))
                if left.is_constant:
                    return right if is_false(left.constant) else left
                if left.otherwise is not None:
                    return replace(left, otherwise=_behind(left.otherwise, right))
                return replace(left, otherwise=right)
            case Kind.AND_EXPRESSION if self.truth(children[0], current) is TRUE:
                return self._read(children[1], current)
            case Kind.COMPARATOR | Kind.NOT_EXPRESSION | Kind.AND_EXPRESSION:
                return Reading(condition=self.truth(node, current))
            case Kind.FUNCTION_EXPRESSION:
                return self._call(node, current)
            case _:
                return self._read_list(node, current)

    def _read_list(self, node: Node, current: Reading | None) -> Reading:
        """Return the reading of an expression with several values."""
        children = node.children
        match node.kind:
            case Kind.VALUE_PROJECTION:
                reading = self._read(children[0], current)
                if reading.function != _IMAGES:
                    raise NotReadError
                streams = tuple(stream.elements() for stream in reading.streams)
                return self._read(children[1], Reading(streams, is_list=True, function=_IMAGE))
            case Kind.MULTI_SELECT_DICT if all(map(_keeps_name, children)) and current is not None:
                return current
            case Kind.FLATTEN:
                return self._flattened(children[0], current)
            case Kind.PROJECTION:
                left = self._read(children[0], current)
                if children[0].kind is not Kind.FLATTEN:
                    left = _elements(left)
                return self._read(children[1], left)
            case Kind.FILTER_PROJECTION:
                return self._filtered(node, current)
            case Kind.MULTI_SELECT_LIST:
                members = [self._read(child, current) for child in children]
                functions = {member.function for member in members}
                streams = tuple(stream for member in members for stream in member.streams)
                if not functions <= {"", _IMAGES} or len(functions) > 1 or not streams:
                    raise NotReadError
                return Reading(streams, is_list=True, function=functions.pop())
            case _:
                raise NotReadError

    def _named(self, name: str) -> Reading:
        if name == "request":
            return Reading(function="request")
        if name not in self.names:
            raise NotReadError
        return self.names[name]

    def _flattened(self, node: Node, current: Reading | None) -> Reading:
        """Read `list[]`, or `[one, other][]`: the elements of each list."""
        left = self._read(node, current)
        if left.function in (_IMAGES, _IMAGE) or any(stream.part for stream in left.streams):
            return left
        last = node
        while last.kind in (Kind.SUBEXPRESSION, Kind.PIPE):
            last = last.children[1]
        if last.kind is Kind.MULTI_SELECT_LIST:
            return Reading(tuple(part.elements() for part in left.streams), is_list=True)
        return _elements(left)

    def _filtered(self, node: Node, current: Reading | None) -> Reading:
        left = self._read(node.children[0], current)
        if not left.is_list:
            left = _elements(left)
        if left.function not in ("", _IMAGE):
            raise NotReadError
        streams = []
        for stream in left.streams:
            element = Reading((replace(stream, loops=(), condition=TRUE),), function=left.function)
            streams.append(stream.narrowed(self.truth(node.children[2], element)))
        narrowed = Reading(tuple(streams), is_list=True, function=left.function)
        return self._read(node.children[1], narrowed)

    def _call(self, node: Node, current: Reading | None) -> Reading:
        name = str(node.value)
        arguments = [self._read(child, current) for child in node.children]
        if name in ("keys", "length") and len(arguments) == 1:
            return replace(arguments[0], function=name)
        if name in ("to_string", "to_number", "trim") and len(arguments) == 1:
            return arguments[0]
        if name in ("subtract", "add") and arguments[1].constant in (0, "0", "0Mi"):
            return replace(arguments[0], is_size=True)
        if name in _BOOLEAN and len(arguments) == 2:
            subject = arguments[1 if name == "regex_match" else 0]
            other = arguments[0 if name == "regex_match" else 1]
            if subject.function or not subject.streams or not other.is_constant:
                raise NotReadError
            return replace(subject, function=name, arguments=(other.constant,))
        raise NotReadError

    def truth(self, node: Node, current: Reading | None) -> Formula:
        """Return the formula under which an expression is true. Raises NotReadError."""
        match node.kind:
            case Kind.AND_EXPRESSION:
                return all_of(*(self.truth(child, current) for child in node.children))
            case Kind.OR_EXPRESSION:
                return any_of(*(self.truth(child, current) for child in node.children))
            case Kind.NOT_EXPRESSION:
                return opposite(self.truth(node.children[0], current))
            case Kind.COMPARATOR:
                left, right = (self._read(child, current) for child in node.children)
                sign = _SIGNS[node.value]
                if left.is_constant:
                    left, right, sign = right, left, FLIPPED[sign]
                if not right.is_constant:
                    raise NotReadError
                test = comparison(sign, right.constant, left.is_size)
                if left.function == "length" and not left.is_list:
                    raise NotReadError
                return self.chained(left, lambda place: Atom(place, test, self.source))
            case _:
                return self.is_true(self._read(node, current))

    def is_true(self, reading: Reading) -> Formula:
        """Return the formula of a true value: it is not empty, or its function holds."""
        if reading.condition is not None:
            return reading.condition
        if reading.function in _BOOLEAN:
            (argument,) = reading.arguments
            return self.chained(replace(reading, function=""), self._of_function(reading, argument))
        return self.chained(reading, lambda place: Atom(place, _FULL, self.source))

    def _of_function(self, reading: Reading, argument: Json) -> Callable[[Place], Formula]:
        test = function_test(reading.function, str(argument))

        def formula(place: Place) -> Formula:
            atom = Atom(place, test, self.source)
            if reading.function != "contains":
                return atom
            equal = Test(str(argument), lambda value: value == argument, (argument,), True, True)
            elements = Stream((), place).elements()
            return any_of(atom, elements.some(lambda element: Atom(element, equal, self.source)))

        return formula

    def chained(self, reading: Reading, part: Callable[[Place], Formula]) -> Formula:
        """Return the formula that a value, or its replacement if it is empty, meets `part`."""
        if reading.is_constant:
            holds = truth(part(Place()), reading.constant, {})
            if holds is None:
                raise NotReadError
            return TRUE if holds else FALSE
        if reading.function or reading.is_list or reading.condition is not None:
            raise NotReadError
        (stream,) = reading.streams
        if stream.loops:
            raise NotReadError
        own = stream.of(part)
        if reading.otherwise is None:
            return own
        full = stream.of(lambda place: Atom(place, _FULL, self.source))
        other = reading.otherwise
        if other.is_constant and isinstance(own, Atom):
            return replace(own, test=_with_default(own.test, other.constant))
        return any_of(all_of(full, own), all_of(opposite(full), self.chained(other, part)))


def _behind(reading: Reading, other: Reading) -> Reading:
    if reading.is_constant:
        return other if is_false(reading.constant) else reading
    further = other if reading.otherwise is None else _behind(reading.otherwise, other)
    return replace(reading, otherwise=further)


def _plain(reading: Reading) -> tuple[Stream, ...]:
    if reading.function or not reading.streams:
        raise NotReadError
    return reading.streams


def images_of(spec: tuple[str, ...]) -> Reading:
    """Return the reading of the name `images`; spec: the path of the Pod's specification."""
    return Reading((Stream((), Place("request", spec)),), function=_ALL_IMAGES)


def _keeps_name(node: Node) -> bool:
    """Report whether a pair of a mapping is `name: name`, or that with a default of no text."""
    value = node.children[0]
    if value.kind is Kind.OR_EXPRESSION and value.children[1].value == "":
        value = value.children[0]
    return value.kind is Kind.FIELD and value.value == node.value


def _elements(reading: Reading) -> Reading:
    return Reading(tuple(stream.elements() for stream in _plain(reading)), is_list=True)


def _child(reading: Reading, name: str | int) -> Reading:
    if reading.function == "request":
        if name == "namespace":
            return Reading((Stream((), Place("request", ("metadata", "namespace"))),))
        if str(name) not in _OF_REQUEST:
            raise NotReadError
        return _OF_REQUEST[str(name)]
    if reading.function in (_ALL_IMAGES, _IMAGE):
        image_name = str(name)
        if reading.function == _ALL_IMAGES:
            streams = tuple(stream.child(image_name) for stream in reading.streams)
            return Reading(streams, function=_IMAGES)
        if image_name not in PARTS:
            raise NotReadError
        streams = tuple(replace(item.child("image"), part=image_name) for item in reading.streams)
        return Reading(streams, is_list=reading.is_list)
    if reading.otherwise is not None and not is_false(reading.otherwise.constant):
        raise NotReadError
    streams = tuple(stream.child(name) for stream in _plain(reading))
    return Reading(streams, is_list=reading.is_list)


def _with_default(test: Test, default: Json) -> Test:
    """Return the test of a value that another stands in for where it is empty."""
    if test.opposite_of is not None:
        return negated(_with_default(test.opposite_of, default), test.wants)
    holds = test.holds

    def settled(value: Json) -> bool:
        return holds(default if value is MISSING or is_false(value) else value)

    takes_default = holds(default)
    return replace(
        test,
        holds=settled,
        probes=(*test.probes, MISSING),
        is_closed=test.is_closed and not takes_default,
        is_positive=test.is_positive and not takes_default,
        needs_value=False,
        opposite_of=None,
    )


def names_of(entries: tuple[Body, ...], names: Names, source: Source) -> dict[str, Reading]:
    """Return the names of a context, as far as its entries read fields or are constant."""
    read = dict(names)
    for entry in entries:
        variable = entry.get("variable")
        name = str(entry.get("name"))
        read.pop(name, None)
        if isinstance(variable, dict):
            read.update((name, reading) for reading in _of_entry(variable, read, source))
    return read


def _of_entry(variable: Body, names: Names, source: Source) -> Iterator[Reading]:
    value, path = variable.get("value"), variable.get("jmesPath")
    try:
        if path is None and not _has_variables(value):
            yield Reading(constant=value)
        elif value is None and path is not None and "default" not in variable:
            yield Reader(names, source).expression(str(path))
    except NotReadError:
        return


def _has_variables(value: Json) -> bool:
    if isinstance(value, str):
        return bool(find_variables(value))
    members = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and any(map(_has_variables, members))
