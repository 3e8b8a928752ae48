"""The types of the values of JMESPath, by the types of the variables that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from chartkit.catalog.policy_lint.kind_types import (
    ANY,
    Types,
    element_types,
    field_types,
    kinds_selected,
    types_of,
)
from chartkit.catalog.policy_lint.patterns import PatternPart
from chartkit.engine.jmespath import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.engine.kubernetes.field_faults import LIST
from chartkit.model import text_of

_NOTHING: Final[Types] = frozenset()


@dataclass(frozen=True, slots=True)
class Typed:
    """A value of an expression. types: those that it may have, none for null; field: the path that
    it was read by, empty for other values; members: the values of a context's names; query: the
    expression that gives a variable, empty where there is none."""

    types: Types = ANY
    field: str = ""
    members: Mapping[str, Typed] | None = None
    query: str = ""


Names = Mapping[str, Typed]
"""The variables that an expression can read."""
UnknownFields = tuple[tuple[str, Typed], ...]
"""The names of fields that none of their owner's types has, with the owners."""
UNKNOWN: Final = Typed()


def request_of(kinds: Types) -> Typed:
    """Return the variable `request` for objects of some types."""
    judged = Typed(kinds)
    return Typed(members={"object": judged, "oldObject": judged})


def typed(text: str, names: Names) -> tuple[Typed, UnknownFields]:
    """Return what an expression gives, and the fields in it that no type has."""
    try:
        node = parse(text)
    except JMESPathError:
        return UNKNOWN, ()
    checker = _Checker()
    value = checker.typed(node, Typed(members=names))
    return value, tuple(dict.fromkeys(checker.faults))


def element_of(part: PatternPart) -> Types:
    """Return the types of what a pattern is compared with: the elements of the innermost loop, or
    the whole object."""
    element = whole = types_of(kinds_selected(part.kinds))
    names = {"request": request_of(whole)}
    for loop in part.loops:
        listed, _ = typed(text_of(loop.get("list")), names)
        element = element_types(listed.types) or ANY
        names["element"] = Typed(element)
        element = whole if loop.get("elementScope") is False else element
    return element


@dataclass(slots=True)
class _Checker:
    """Computes the types of an expression's parts; faults: unknown fields with their owners."""

    faults: list[tuple[str, Typed]] = field(default_factory=list)

    def typed(self, node: Node, current: Typed) -> Typed:
        """Return what a node gives for a current value."""
        compute = _NODES.get(node.kind)
        if compute is not None:
            return compute(self, node, current)
        for child in node.children:
            self.typed(child, current)
        return UNKNOWN

    def field(self, node: Node, current: Typed) -> Typed:
        """Return a field of the current value."""
        name: str = node.value
        if current.members is not None:
            return current.members.get(name, UNKNOWN)
        if current.types in (ANY, _NOTHING):
            return current
        types = field_types(current.types, name)
        if not types:
            self.faults.append((name, current))
        return Typed(types, f"{current.field}.{name}".removeprefix("."))

    def chain(self, node: Node, current: Typed) -> Typed:
        """Return the last of several steps."""
        for child in node.children:
            current = self.typed(child, current)
        return current

    def index(self, _node: Node, current: Typed) -> Typed:
        """Return an element of a list."""
        return Typed(element_types(current.types), f"{current.field}[]")

    def projection(self, node: Node, current: Typed) -> Typed:
        """Return what is made of each element of a list."""
        left, right, *condition = node.children
        listed = self.typed(left, current)
        element = Typed(element_types(listed.types), f"{listed.field}[]".replace("[][]", "[]"))
        for each in condition:
            self.typed(each, element)
        return _list_of(self.typed(right, element))

    def flatten(self, node: Node, current: Typed) -> Typed:
        """Return a list of lists as one list."""
        listed = self.typed(node.children[0], current)
        inner = element_types(listed.types)
        flat = element_types(inner) if inner != ANY else ANY
        others = frozenset(each for each in inner if not each.startswith(LIST))
        return _list_of(Typed(flat | others, listed.field.removesuffix("[]")))

    def values(self, node: Node, current: Typed) -> Typed:
        """Return what is made of each value of an object."""
        self.typed(node.children[0], current)
        return UNKNOWN

    def selected(self, node: Node, current: Typed) -> Typed:
        """Return a list of several values."""
        values = [self.typed(child, current) for child in node.children]
        if any(value.members is not None for value in values):
            return UNKNOWN
        field = ""
        if len({value.field.rpartition(".")[0] for value in values}) == 1:
            names = ", ".join(value.field.rpartition(".")[2] for value in values)
            field = f"{current.field}.[{names}]" if len(values) > 1 else values[0].field
        return _list_of(Typed(frozenset().union(*(value.types for value in values)), field))

    def either(self, node: Node, current: Typed) -> Typed:
        """Return one of two values."""
        left, right = (self.typed(child, current) for child in node.children)
        if left.members is not None or right.members is not None:
            return UNKNOWN
        return Typed(left.types | right.types, left.field)


_NODES: Final[dict[Kind, Callable[[_Checker, Node, Typed], Typed]]] = {
    Kind.FIELD: _Checker.field,
    Kind.SUBEXPRESSION: _Checker.chain,
    Kind.INDEX_EXPRESSION: _Checker.chain,
    Kind.PIPE: _Checker.chain,
    Kind.INDEX: _Checker.index,
    Kind.PROJECTION: _Checker.projection,
    Kind.FILTER_PROJECTION: _Checker.projection,
    Kind.FLATTEN: _Checker.flatten,
    Kind.VALUE_PROJECTION: _Checker.values,
    Kind.MULTI_SELECT_LIST: _Checker.selected,
    Kind.OR_EXPRESSION: _Checker.either,
    # A reference is about the elements of another list.
    Kind.EXPREF: lambda _checker, _node, _current: UNKNOWN,
    **dict.fromkeys(
        (Kind.SLICE, Kind.IDENTITY, Kind.CURRENT), lambda _checker, _node, current: current
    ),
}


def _list_of(element: Typed) -> Typed:
    types = frozenset(LIST + each for each in element.types) if element.types != ANY else ANY
    return Typed(types, element.field)
