"""The JMESPath of a ClusterPolicy: each expression with the names of variables that it can read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

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
"""Variables that Kyverno gives; `element0` is that of the outermost loop."""
_OF_LOOP: Final = re.compile(r"element(Index)?\d+")
_APART: Final = frozenset({"match", "exclude", "context", "attestations", "imageExtractors"})
"""Parts of a rule with other variables, or none."""
_TEXTS: Final = frozenset({"labels", "annotations"})


@dataclass(frozen=True, slots=True)
class PolicyExpression:
    """An expression. path, offset: of the text and of its first character in it; names: of the
    variables there are, with the expression that gives each, empty where it is none."""

    rule: Rule
    path: FieldPath
    offset: int
    text: str
    names: Mapping[str, str]

    def has(self, name: str) -> bool:
        """Return whether there is a variable with a name."""
        return name in self.names or _OF_LOOP.fullmatch(name) is not None

    def is_text(self, node: Node) -> bool:
        """Return whether a node can only give a text, or nothing: a label or annotation, or a
        variable that is one."""
        steps = _steps(node)
        if len(steps) == 1:
            query = self.names.get(steps[0], "")
            return bool(query) and _is_text(query)
        return len(steps) > 2 and steps[-2] in _TEXTS and steps[-3] == "metadata"


def _is_text(query: str) -> bool:
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


def expressions_of(policy: Policy) -> Iterator[PolicyExpression]:
    """Yield every expression of every rule that is known to be one."""
    for index, rule in enumerate(policy.rules):
        reader = _Reader(rule)
        reader.block(rule.body, ("spec", "rules", index), dict.fromkeys(_GIVEN, ""))
        yield from reader.found


@dataclass(slots=True)
class _Reader:
    """Collects the expressions of a rule."""

    rule: Rule
    found: list[PolicyExpression] = field(default_factory=list)

    def block(self, body: Body, path: FieldPath, names: Mapping[str, str]) -> None:
        """Read a rule, or a part of it with a context of its own."""
        # What a context entry is called is defined in all of the block, as Kyverno checks it.
        names = dict(names)
        for entry in mappings_at(body, "context"):
            variable = mapping_at(entry, "variable")
            query = "" if "value" in variable else text_of(variable.get("jmesPath"))
            names[text_of(entry.get("name")).partition(".")[0]] = query
        for at, entry in enumerate(mappings_at(body, "context")):
            here = (*path, "context", at)
            self.value(entry, here, names)
            query = "" if "value" in mapping_at(entry, "variable") else "jmesPath"
            if text := text_of(mapping_at(entry, "variable").get(query)):
                self.query(text, (*here, "variable", "jmesPath"), 0, names)
        for key, value in body.items():
            if key == "list":
                self.query(text_of(value), (*path, key), 0, names)
            elif key not in _APART:
                self.value(value, (*path, key), names)

    def value(self, value: Json, path: FieldPath, names: Mapping[str, str]) -> None:
        """Read the variables in the texts of a value."""
        if isinstance(value, str):
            for variable in find_variables(value) if "{{" in value else ():
                begin = max(value.find(variable.query, variable.start), variable.start)
                self.query(variable.query, path, begin, names)
        elif isinstance(value, list):
            for index, member in enumerate(value):
                if isinstance(member, dict) and path[-1] in ("foreach", "targets"):
                    self.block(member, (*path, index), names)
                else:
                    self.value(member, (*path, index), names)
        elif isinstance(value, dict):
            for key, member in value.items():
                if key not in _APART:
                    self.value(member, (*path, key), names)

    def query(self, text: str, path: FieldPath, offset: int, names: Mapping[str, str]) -> None:
        """Keep an expression; one with variables inside is another for each of their values."""
        if text.strip() and "{{" not in text:
            self.found.append(PolicyExpression(self.rule, path, offset, text, names))
