"""Compiled expressions and their cache.

The parser, the compiler and the functions are imported for the first expression.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from chartkit.engine.budget import QUERY, Budget
from chartkit.engine.jmespath.errors import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.model import Json

if TYPE_CHECKING:
    from chartkit.engine.jmespath.declaration import Search

WHOLE_INPUT = "@"
"""Stands in `Expression.roots` where an expression reads its input as a whole."""

_MAKES_GO_VALUES = frozenset({"items", "base64_decode"})
"""Functions whose results hold what is not a JSON value: Go's typed list, bytes that are not
strings."""
_TAKES_REFERENCES = frozenset({"map", "max_by", "min_by", "sort_by"})


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, compiled once.

    text: as it was written; roots: the top-level names that it reads from its input, with
    `WHOLE_INPUT` where it reads everything; steps: what a search costs without its loops.
    """

    text: str
    roots: frozenset[str]
    steps: int
    _search: Search = field(repr=False, compare=False)

    def search(self, data: Json, budget: Budget | None = None) -> Json:
        """Return the result of the expression for a value; raises `JMESPathError`, and
        `BudgetError` if the search takes more than the budget has (without one: more than a rule
        may take).

        Numbers found are plain int or float (float64), or `Int64` where Go has an integer.
        Nothing in data is changed, and the result may share parts with it.
        """
        try:
            return self._search(data, Budget() if budget is None else budget)
        except RecursionError:
            raise JMESPathError("the value nests too deeply") from None


@lru_cache(maxsize=8192)
def compile_expression(text: str) -> Expression:
    """The expression of a text; raises `JMESPathError` with Kyverno's text."""
    from chartkit.engine.jmespath.compiler import compile_node
    from chartkit.engine.jmespath.parser import parse

    node = parse(text)
    search = compile_node(node)
    if makes_go_values(node):
        search = _converted(search)
    return Expression(text, frozenset(_roots(node)), QUERY + node.weight, search)


def _converted(search: Search) -> Search:
    from chartkit.engine.jmespath.declaration import to_json

    def find(value: Json, budget: Budget) -> Json:
        found = search(value, budget)
        budget.weigh(found, "the value of an expression")
        return to_json(found)

    return find


def makes_go_values(node: Node) -> bool:
    """Report whether a result may hold what is not a JSON value."""
    if node.kind is Kind.EXPREF:
        return True
    if node.kind is not Kind.FUNCTION_EXPRESSION:
        return any(map(makes_go_values, node.children))
    children = node.children
    if node.value in _TAKES_REFERENCES:
        children = tuple(
            child.children[0] if child.kind is Kind.EXPREF else child for child in children
        )
    return node.value in _MAKES_GO_VALUES or any(map(makes_go_values, children))


_NEW_SCOPE_AFTER_FIRST = frozenset(
    {
        Kind.SUBEXPRESSION,
        Kind.INDEX_EXPRESSION,
        Kind.PIPE,
        Kind.PROJECTION,
        Kind.FILTER_PROJECTION,
        Kind.VALUE_PROJECTION,
    }
)
_READS_ALL = frozenset({Kind.IDENTITY, Kind.CURRENT, Kind.INDEX, Kind.SLICE})


def _roots(node: Node) -> set[str]:
    if node.kind is Kind.FIELD:
        return {node.value}
    if node.kind in _READS_ALL:
        return {WHOLE_INPUT}
    if node.kind is Kind.EXPREF:
        return set()
    children = node.children[:1] if node.kind in _NEW_SCOPE_AFTER_FIRST else node.children
    return set().union(*map(_roots, children))
