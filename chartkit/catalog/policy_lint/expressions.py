"""The JMESPath of a ClusterPolicy: each expression with the variables that it can read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.catalog.policy_lint.kind_types import ANY, element_types, kinds_selected, types_of
from chartkit.catalog.policy_lint.queries import (
    UNKNOWN,
    Names,
    Typed,
    UnknownFields,
    request_of,
    typed,
)
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.engine.jmespath import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.model import Body, FieldPath, Json, mapping_at, mappings_at, text_of

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
