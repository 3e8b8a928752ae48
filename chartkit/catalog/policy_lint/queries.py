"""The fields that the JMESPath of a rule reads from objects, by the types of the matched kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.engine.jmespath import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.engine.kubernetes.field_faults import LIST
from chartkit.model import Body, FieldPath, Json, list_of, mappings_at, text_of

_NOTHING: Final[Types] = frozenset()


@dataclass(frozen=True, slots=True)
class Typed:
    """A value of an expression. types: those that it may have, none for null; field: the path that
    it was read by, empty for other values; members: the values of a context's names."""

    types: Types = ANY
    field: str = ""
    members: Mapping[str, Typed] | None = None


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that none of the types of its owner has.

    path, offset: of the text, and of the name in it; owner: the owner's types and path.
    """

    rule: Rule
    path: FieldPath
    offset: int
    name: str
    owner: Typed


_UNKNOWN: Final = Typed()


def unknown_fields(policy: Policy) -> Iterator[UnknownField]:
    """Yield the fields in queries of a policy that no object of the matched kinds has."""
    for index, rule in enumerate(policy.rules):
        judged = Typed(types_of(kinds_selected(rule.match.kinds)), "")
        request = Typed(members={"object": judged, "oldObject": judged})
        reader = _Reader(rule)
        reader.block(rule.body, ("spec", "rules", index), {"request": request})
        yield from reader.found


def element_of(part: PatternPart) -> Types:
    """Return the types of what a pattern is compared with: the elements of the innermost loop, or
    the whole object."""
    whole = types_of(kinds_selected(part.kinds))
    request = Typed(members={"object": Typed(whole), "oldObject": Typed(whole)})
    names, element = {"request": request}, whole
    for loop in part.loops:
        listed = _Reader(part.rule).query(text_of(loop.get("list")).strip(), (), 0, names)
        element = element_types(listed.types) or ANY
        names["element"] = Typed(element)
        element = whole if loop.get("elementScope") is False else element
    return element


@dataclass(slots=True)
class _Reader:
    """Reads the queries of a rule, each with the names that are known where it is."""

    rule: Rule
    found: list[UnknownField] = field(default_factory=list)

    def block(self, body: Body, path: FieldPath, names: Mapping[str, Typed]) -> None:
        """Read a rule, or a part of it with a context of its own."""
        names = dict(names)
        for at, entry in enumerate(mappings_at(body, "context")):
            self.value(entry, (*path, "context", at), names)
            names[text_of(entry.get("name"))] = self._variable(entry, path, at, names)
        for key, value in body.items():
            if key != "context":
                self.value(value, (*path, key), names)

    def value(self, value: Json, path: FieldPath, names: Mapping[str, Typed]) -> None:
        """Read the queries in a value."""
        if isinstance(value, str):
            for variable in find_variables(value) if "{{" in value else ():
                begin = value.find(variable.query, variable.start)
                self.query(variable.query, path, max(begin, variable.start), names)
        elif isinstance(value, list):
            for index, member in enumerate(value):
                self.value(member, (*path, index), names)
        elif isinstance(value, dict):
            for key, member in value.items():
                if key == "foreach":
                    self._loops(member, (*path, key), names)
                elif key not in ("match", "exclude", "context"):
                    self.value(member, (*path, key), names)

    def query(self, text: str, path: FieldPath, begin: int, names: Mapping[str, Typed]) -> Typed:
        """Return what an expression gives; begin: its offset in the text at the path."""
        try:
            node = parse(text)
        except JMESPathError:
            return _UNKNOWN
        checker = _Checker(names)
        value = checker.typed(node, Typed(members=names))
        for name, owner in dict.fromkeys(checker.faults):
            offset = max(text.find(name), 0)
            self.found.append(UnknownField(self.rule, path, begin + offset, name, owner))
        return value

    def _variable(self, entry: Body, path: FieldPath, at: int, names: Mapping[str, Typed]) -> Typed:
        body = entry.get("variable")
        query = text_of(body.get("jmesPath")) if isinstance(body, dict) else ""
        if not query or "{{" in query or not isinstance(body, dict):
            return _UNKNOWN
        if body.get("value") is not None:
            return _UNKNOWN
        here = (*path, "context", at, "variable", "jmesPath")
        value = self.query(query.strip(), here, 0, names)
        return _UNKNOWN if "default" in body else value

    def _loops(self, value: Json, path: FieldPath, names: Mapping[str, Typed]) -> None:
        for at, loop in enumerate(list_of(value)):
            if not isinstance(loop, dict):
                continue
            text = text_of(loop.get("list"))
            listed = _UNKNOWN
            if text and "{{" not in text:
                listed = self.query(text.strip(), (*path, at, "list"), 0, names)
            element = Typed(element_types(listed.types) or ANY, f"{listed.field}[]")
            inner = {key: entry for key, entry in loop.items() if key != "list"}
            self.block(inner, (*path, at), {**names, "element": element})


@dataclass(slots=True)
class _Checker:
    """Computes the types of an expression's parts; faults: unknown fields with their owners."""

    names: Mapping[str, Typed]
    faults: list[tuple[str, Typed]] = field(default_factory=list)

    def typed(self, node: Node, current: Typed) -> Typed:
        """Return what a node gives for a current value."""
        compute = _NODES.get(node.kind)
        if compute is not None:
            return compute(self, node, current)
        for child in node.children:
            self.typed(child, current)
        return _UNKNOWN

    def field(self, node: Node, current: Typed) -> Typed:
        """Return a field of the current value."""
        name: str = node.value
        if current.members is not None:
            return current.members.get(name, _UNKNOWN)
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
        return _UNKNOWN

    def selected(self, node: Node, current: Typed) -> Typed:
        """Return a list of several values."""
        values = [self.typed(child, current) for child in node.children]
        if any(value.members is not None for value in values):
            return _UNKNOWN
        field = ""
        if len({value.field.rpartition(".")[0] for value in values}) == 1:
            names = ", ".join(value.field.rpartition(".")[2] for value in values)
            field = f"{current.field}.[{names}]" if len(values) > 1 else values[0].field
        return _list_of(Typed(frozenset().union(*(value.types for value in values)), field))

    def either(self, node: Node, current: Typed) -> Typed:
        """Return one of two values."""
        left, right = (self.typed(child, current) for child in node.children)
        if left.members is not None or right.members is not None:
            return _UNKNOWN
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
    Kind.EXPREF: lambda _checker, _node, _current: _UNKNOWN,
    **dict.fromkeys(
        (Kind.SLICE, Kind.IDENTITY, Kind.CURRENT), lambda _checker, _node, current: current
    ),
}


def _list_of(element: Typed) -> Typed:
    types = frozenset(LIST + each for each in element.types) if element.types != ANY else ANY
    return Typed(types, element.field)
