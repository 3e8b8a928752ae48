"""The fields of an object that an expression of JMESPath reads, where it does no more than that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.satisfy.formula import Formula, Place, Some, every
from chartkit.addons.satisfy.wants.pattern import fresh
from chartkit.engine.context.variables.syntax import find_variables, is_whole
from chartkit.engine.jmespath.errors import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.model import Body, Json


class NotReadError(Exception):
    """An expression that does more than read fields."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The value of a field, or one for every element of the lists that loops go through."""

    loops: tuple[tuple[str, Place], ...]
    place: Place

    def child(self, name: str | int) -> Stream:
        return replace(self, place=self.place.child(name))

    def elements(self) -> Stream:
        variable = fresh()
        return Stream((*self.loops, (variable, self.place)), Place(variable))

    def every(self, part: Callable[[Place], Formula]) -> Formula:
        """Return a formula for every value."""
        formula = part(self.place)
        for variable, listed in reversed(self.loops):
            formula = every(variable, listed, formula)
        return formula

    def some(self, part: Callable[[Place], Formula]) -> Formula:
        """Return a formula for some value."""
        formula = part(self.place)
        for variable, listed in reversed(self.loops):
            formula = Some(variable, listed, formula)
        return formula


@dataclass(frozen=True, slots=True)
class Reading:
    """What an expression reads. is_list: whether the streams are the members of one list;
    function: of the value, with its literal arguments; default: where there is no value (with
    has_default); constant: where it reads nothing."""

    streams: tuple[Stream, ...] = ()
    is_list: bool = False
    function: str = ""
    arguments: tuple[Json, ...] = ()
    has_default: bool = False
    default: Json = None
    constant: Json = None


Names = Mapping[str, Reading]
"""What the names of expressions read: `element`, and entries of the context."""

OBJECT: Final = Reading((Stream((), Place()),))
_BOOLEAN: Final = frozenset(("contains", "starts_with", "ends_with", "regex_match"))


def read_key(text: Json, names: Names) -> Reading:
    """Return what a condition's key reads. Raises NotReadError."""
    if not isinstance(text, str):
        return Reading(constant=text)
    variables = find_variables(text)
    if not variables:
        return Reading(constant=text)
    if not is_whole(variables, text):
        raise NotReadError
    return read_expression(variables[0].query, names)


def read_expression(text: str, names: Names) -> Reading:
    """Return what an expression reads. Raises NotReadError."""
    try:
        return _read(parse(text), None, names)
    except (JMESPathError, RecursionError):
        raise NotReadError from None


def _read(node: Node, current: Reading | None, names: Names) -> Reading:
    match node.kind:
        case Kind.FIELD:
            return _named(node.value, names) if current is None else _child(current, node.value)
        case Kind.CURRENT | Kind.IDENTITY:
            if current is None:
                raise NotReadError
            return current
        case Kind.LITERAL:
            return Reading(constant=node.value)
        case Kind.SUBEXPRESSION | Kind.PIPE | Kind.INDEX_EXPRESSION:
            left = _read(node.children[0], current, names)
            return _read(node.children[1], left, names)
        case Kind.INDEX if current is not None and not current.is_list and node.value >= 0:
            return _child(current, int(node.value))
        case Kind.OR_EXPRESSION:
            return _with_default(node, current, names)
        case Kind.FLATTEN:
            return _flattened(node.children[0], current, names)
        case Kind.PROJECTION:
            left_node = node.children[0]
            left = _read(left_node, current, names)
            if left_node.kind is not Kind.FLATTEN:
                left = _elements(left)
            return _read(node.children[1], left, names)
        case Kind.FUNCTION_EXPRESSION:
            return _call(node, current, names)
        case _:
            raise NotReadError


def _named(name: str, names: Names) -> Reading:
    if name == "request":
        return Reading(function="request")
    if name not in names:
        raise NotReadError
    return names[name]


_OF_REQUEST: Final = {"object": OBJECT, "operation": Reading(constant="CREATE")}


def _child(reading: Reading, name: str | int) -> Reading:
    if reading.function == "request":
        if name == "namespace":
            return Reading((Stream((), Place("", ("metadata", "namespace"))),))
        found = _OF_REQUEST.get(str(name))
        if found is None:
            raise NotReadError
        return found
    if reading.function or not reading.streams:
        raise NotReadError
    return replace(reading, streams=tuple(each.child(name) for each in reading.streams))


def _with_default(node: Node, current: Reading | None, names: Names) -> Reading:
    left = _read(node.children[0], current, names)
    right = _read(node.children[1], current, names)
    if left.has_default or right.streams or right.function:
        raise NotReadError
    return replace(left, has_default=True, default=right.constant)


def _elements(reading: Reading) -> Reading:
    if reading.function or not reading.streams:
        raise NotReadError
    return Reading(tuple(each.elements() for each in reading.streams), is_list=True)


def _flattened(node: Node, current: Reading | None, names: Names) -> Reading:
    """Read `list[]`, or `[one, other][]`: the elements of each list."""
    chain = node
    left = current
    if chain.kind is Kind.SUBEXPRESSION and chain.children[1].kind is Kind.MULTI_SELECT_LIST:
        left = _read(chain.children[0], current, names)
        chain = chain.children[1]
    if chain.kind is Kind.MULTI_SELECT_LIST:
        if left is None or left.is_list:
            raise NotReadError
        members = [_read(each, left, names) for each in chain.children]
        streams = [stream for each in members for stream in each.streams]
        if any(each.function for each in members) or not streams:
            raise NotReadError
        return Reading(tuple(each.elements() for each in streams), is_list=True)
    return _elements(_read(node, current, names))


def _call(node: Node, current: Reading | None, names: Names) -> Reading:
    arguments = [_read(each, current, names) for each in node.children]
    name = str(node.value)
    if name in ("keys", "length") and len(arguments) == 1:
        return replace(arguments[0], function=name)
    if name in ("to_string", "to_number", "trim") and len(arguments) == 1:
        return arguments[0]
    if name in _BOOLEAN and len(arguments) == 2:
        subject = arguments[1 if name == "regex_match" else 0]
        other = arguments[0 if name == "regex_match" else 1]
        if subject.function or not subject.streams or other.streams or other.function:
            raise NotReadError
        return replace(subject, function=name, arguments=(other.constant,))
    raise NotReadError


def names_of(entries: tuple[Body, ...], names: Names) -> dict[str, Reading]:
    """Return the names of a context, as far as its entries read fields or are constant."""
    found = dict(names)
    for entry in entries:
        variable = entry.get("variable")
        name = str(entry.get("name"))
        found.pop(name, None)
        if not isinstance(variable, dict):
            continue
        for reading in _of_entry(variable, found):
            found[name] = reading
    return found


def _of_entry(variable: Body, names: Names) -> Iterator[Reading]:
    value, path = variable.get("value"), variable.get("jmesPath")
    try:
        if path is None and not _has_variables(value):
            yield Reading(constant=value)
        elif value is None and path is not None and "default" not in variable:
            yield read_expression(str(path), names)
    except NotReadError:
        return


def _has_variables(value: Json) -> bool:
    if isinstance(value, str):
        return bool(find_variables(value))
    members = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and any(map(_has_variables, members))


def constant(value: Json, names: Names) -> Json:
    """Return a condition's value, constants in place of their names. Raises NotReadError."""
    if isinstance(value, list):
        return [constant(member, names) for member in value]
    if not _has_variables(value):
        return value
    reading = read_key(value, names) if isinstance(value, str) else Reading(function="?")
    if reading.streams or reading.function:
        raise NotReadError
    return reading.constant
