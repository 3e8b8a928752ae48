"""Compiled expressions and their cache.

The parser, the compiler and the functions are imported for the first expression.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from chartkit.engine.budget import QUERY, Budget
from chartkit.errors import EvaluationError
from chartkit.model import Json

if TYPE_CHECKING:
    from chartkit.engine.jmespath.declaration import Search


class JMESPathError(EvaluationError):
    """An expression that cannot be compiled or searched."""


class ExpressionSyntaxError(JMESPathError):
    """A text that is not an expression; offset is where, in characters from the start."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(f"SyntaxError: {message}")
        self.offset = offset


class LiteralError(JMESPathError):
    """A backtick literal or quoted name that is not JSON."""


class NotFoundError(JMESPathError):
    """A key that an object does not have; most constructs take it as null."""

    def __init__(self, key: str) -> None:
        super().__init__(f'Unknown key "{key}" in path')
        self.key = key


class InvalidTypeError(JMESPathError):
    """An argument of a type that the function does not take."""


class ArityError(JMESPathError):
    """A function called with too few or too many arguments."""


class UnknownFunctionError(JMESPathError):
    """A function that does not exist; an error only where the call is reached."""


class FunctionError(JMESPathError):
    """A function that cannot work with the values it got."""


class CrashError(JMESPathError):
    """A search that makes Kyverno's own process panic."""


def function_error(name: str, message: str) -> FunctionError:
    """An error that Kyverno reports with the function's name before it."""
    return FunctionError(f"JMESPath function '{name}': {message}")


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
    from chartkit.engine.jmespath.nodes import makes_go_values, top_names
    from chartkit.engine.jmespath.parser import parse

    node = parse(text)
    search = compile_node(node)
    if makes_go_values(node):
        search = _converted(search)
    return Expression(text, frozenset(top_names(node)), QUERY + node.weight, search)


def _converted(search: Search) -> Search:
    from chartkit.engine.jmespath.declaration import to_json

    def find(value: Json, budget: Budget) -> Json:
        result = search(value, budget)
        budget.weigh(result, "the value of an expression")
        return to_json(result)

    return find
