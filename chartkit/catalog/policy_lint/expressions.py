"""The JMESPath of a ClusterPolicy: each expression with the variables that it can read, and the
types of its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.catalog.policy_lint.kind_types import (
    ANY,
    Types,
    element_types,
    field_types,
    kinds_selected,
    types_of,
)
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.engine.jmespath import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.engine.kubernetes.field_faults import LIST
from chartkit.model import Body, FieldPath, Json, mapping_at, mappings_at, text_of

_NOTHING: Final[Types] = frozenset()
_GIVEN: Final = (
    *("request", "images", "image", "element", "elementIndex", "target"),
    *("serviceAccountName", "serviceAccountNamespace"),
)
"""Variables that Kyverno gives; `element0` is the element of the outermost loop."""
_OF_LOOP: Final = re.compile(r"element(Index)?\d+")
_APART: Final = frozenset({"match", "exclude", "context", "attestations", "imageExtractors"})
"""Parts of a rule with other variables, or none."""
_TEXTS: Final = frozenset({"labels", "annotations"})


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


@dataclass(slots=True)
class _Checker:
    """Computes the types of an expression's parts; faults: unknown fields with their owners."""

    faults: list[tuple[str, Typed]] = field(default_factory=list)

    def typed(self, node: Node, current: Typed) -> Typed:
        """Return the type of a node for a current value."""
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
        """Return the type of a projection of a list."""
        left, right, *condition = node.children
        listed = self.typed(left, current)
        element = Typed(element_types(listed.types), f"{listed.field}[]".replace("[][]", "[]"))
        for part in condition:
            self.typed(part, element)
        return _list_of(self.typed(right, element))

    def flatten(self, node: Node, current: Typed) -> Typed:
        """Return a list of lists as one list."""
        listed = self.typed(node.children[0], current)
        inner = element_types(listed.types)
        flat = element_types(inner) if inner != ANY else ANY
        others = frozenset(name for name in inner if not name.startswith(LIST))
        return _list_of(Typed(flat | others, listed.field.removesuffix("[]")))

    def values(self, node: Node, current: Typed) -> Typed:
        """Return the type of a projection of an object's values."""
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
    types = frozenset(LIST + name for name in element.types) if element.types != ANY else ANY
    return Typed(types, element.field)


@dataclass(frozen=True, slots=True)
class PolicyExpression:
    """An expression. path, offset: of the text and of its first character in it; names: the
    variables there are; unknown: the fields that no object of the matched kinds has."""

    rule: Rule
    path: FieldPath
    offset: int
    text: str
    names: Names
    unknown: UnknownFields

    def has(self, name: str) -> bool:
        """Report whether there is a variable with a name."""
        return name in self.names or _OF_LOOP.fullmatch(name) is not None

    def is_text(self, node: Node) -> bool:
        """Report whether a node can only give a text, or nothing: a label or annotation, or a
        variable that is one."""
        steps = _steps(node)
        if len(steps) == 1 and (query := self.names.get(steps[0], UNKNOWN).query):
            try:
                steps = _steps(parse(query))
            except JMESPathError:
                return False
        return len(steps) > 2 and steps[-2] in _TEXTS and steps[-3] == "metadata"


def _steps(node: Node) -> tuple[str, ...]:
    """Return the fields of `a.b.c`; none for any other expression."""
    if node.kind is Kind.FIELD and isinstance(node.value, str):
        return (node.value,)
    if node.kind is not Kind.SUBEXPRESSION:
        return ()
    parts = [_steps(child) for child in node.children]
    return tuple(step for part in parts for step in part) if all(parts) else ()


def expressions_of(policy: Policy | None) -> Iterator[PolicyExpression]:
    """Yield every text in the rules of a policy that must be an expression."""
    for index, rule in enumerate(policy.rules if policy is not None else ()):
        reader = _Reader(rule)
        request = request_of(types_of(kinds_selected(rule.match.kinds)))
        names = {**dict.fromkeys(_GIVEN, UNKNOWN), "request": request}
        reader.block(rule.body, ("spec", "rules", index), names)
        yield from reader.expressions


@dataclass(slots=True)
class _Reader:
    """Collects the expressions of a rule."""

    rule: Rule
    expressions: list[PolicyExpression] = field(default_factory=list)

    def block(self, body: Body, path: FieldPath, outer: Names) -> None:
        """Read a rule, or a part of it with a context of its own."""
        # What a context entry is called is defined in all of the block, as Kyverno checks it.
        entries = mappings_at(body, "context")
        own = [(*text_of(entry.get("name")).partition("."), _query_of(entry)) for entry in entries]
        names = {**outer, **{name: Typed(query=query) for name, *_, query in own}}
        if path[-2] == "foreach":
            listed = self.query(text_of(body.get("list")), (*path, "list"), 0, names)
            element = element_types(listed.types) or ANY
            names["element"] = Typed(element, f"{listed.field}[]")
        for at, (entry, (name, dot, _, query)) in enumerate(zip(entries, own, strict=True)):
            here = (*path, "context", at)
            self.value(entry, here, names)
            value = self.query(query, (*here, "variable", "jmesPath"), 0, names)
            if not (dot or "default" in mapping_at(entry, "variable")):
                names[name] = replace(value, query=query)
        self.value(body, path, names)

    def value(self, value: Json, path: FieldPath, names: Names) -> None:
        """Read the variables in the texts of a value."""
        if isinstance(value, str):
            for variable in find_variables(value) if "{{" in value else ():
                begin = max(value.find(variable.query, variable.start), variable.start)
                self.query(variable.query, path, begin, names)
        elif isinstance(value, list):
            for index, member in enumerate(value):
                is_block = isinstance(member, dict) and path[-1] in ("foreach", "targets")
                (self.block if is_block else self.value)(member, (*path, index), names)
        elif isinstance(value, dict):
            for key, member in value.items():
                if key not in _APART:
                    self.value(member, (*path, key), names)

    def query(self, text: str, path: FieldPath, offset: int, names: Names) -> Typed:
        """Keep an expression, and return what it gives; one with variables inside is another for
        each of their values."""
        if not text.strip() or "{{" in text:
            return UNKNOWN
        value, unknown = typed(text, names)
        self.expressions.append(PolicyExpression(self.rule, path, offset, text, names, unknown))
        return value


def _query_of(entry: Body) -> str:
    variable = mapping_at(entry, "variable")
    return "" if "value" in variable else text_of(variable.get("jmesPath"))
