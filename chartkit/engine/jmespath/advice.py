"""Advice for JMESPath that fails: mistakes that a text shows, and what an error means.

Kyverno's words say what its parser or a function met. The advice says what to write, and stands
beside them, never in their place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from chartkit.engine.jmespath.expression import JMESPathError, compile_expression
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.suggestions import suggestion

_BACKTICKS: Final = "write numbers in backticks: `10`"
_TO_NUMBER: Final = "to_number() makes a number of a text; a number itself is in backticks: `10`"
_QUOTES: Final = "a name without quotes is a variable, in double quotes a field"
_ERRORS: Final = (
    (r"Invalid token: tNumber", "", _BACKTICKS),
    (r"tQuotedIdentifier or tUnquotedIdentifier", r"^\s*\{\{", "leave the braces out"),
    (r"SyntaxError", r"(?<![=!<>])=(?!=)", "a comparison has two signs: =="),
    (r"SyntaxError", r"\s(and|or|not)\s", "write && for and, || for or, ! for not"),
    (r"JSON input|invalid character", r"``", "write one pair of backticks: `10`"),
    (r"JSON input|invalid character", r"`", "JSON is in backticks: `10`, `[\"a\"]`; a text is 'a'"),
    (r"Types mismatch", "", f"the operands must be of one type: {_TO_NUMBER}"),
    (r"invalid operand", "", f"an operand has no value, or is not a number: {_TO_NUMBER}"),
    (r"Invalid type for: <nil>", "", f"an argument has no value: {_QUOTES}; a text is 'x'"),
    (r"Invalid type for: .*expected: .*\"number\"", "", _TO_NUMBER),
    (r"Invalid type for: .*expected: .*\"string\"", "", "to_string() makes a text of a value"),
)
"""Patterns of errors and of expressions, with the advice for both."""
_LONGEST: Final = 4_000
"""The characters of a message and of an expression that are looked at."""
_FAILED: Final = re.compile(
    r"failed to resolve (.*?) at path |invalid JMESPath query (.*?): (?=SyntaxError)", re.DOTALL
)


def advice(message: str, expression: str = "") -> str | None:
    """Return what to write in place of an expression that fails; None where nothing is known.

    message: the error, alone or in a rule's message, which then names the expression.
    """
    message = message[:_LONGEST]
    named = _FAILED.search(message)
    text = expression[:_LONGEST] or ("" if named is None else named[1] or named[2])
    if "SyntaxError" not in message:
        for mistake in call_mistakes(text):
            return mistake.hint
    for error, part, hint in _ERRORS:
        if re.search(error, message, re.DOTALL) and re.search(part, text):
            return hint
    if called := re.search(r"unknown function: (\w+)", message):
        from chartkit.engine.jmespath.functions import FUNCTIONS

        return suggestion(called[1], FUNCTIONS)
    key = re.search(r'Unknown key "(\w+)" in path', message)
    if key is None or key[1] not in roots_of(text):
        return None
    if key[1] == "request":
        return "put the object below request.object in the input"
    return f"no variable is called {key[1]}: {_QUOTES}; a text is '{key[1]}'"


def roots_of(text: str) -> frozenset[str]:
    """Return the names of variables that an expression reads; none for an invalid text."""
    try:
        return compile_expression(text).roots
    except JMESPathError:
        return frozenset()


class CallMistake(NamedTuple):
    """A call that fails whenever it is reached.

    function: its name; problem: as in `sum() takes 1 argument, not 2`.
    """

    function: str
    problem: str
    hint: str


def call_mistakes(
    text: str, is_text: Callable[[Node], bool] = lambda _node: False
) -> list[CallMistake]:
    """Return the calls in an expression that always fail; none for a text that is not an
    expression.

    is_text: whether a node that is not a literal can only give a text.
    """
    node = _parsed(text)
    return [] if node is None else list(_mistakes(node, is_text))


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Node | None:
    from chartkit.engine.jmespath.parser import parse

    try:
        return parse(text)
    except JMESPathError:
        return None


def _mistakes(node: Node, is_text: Callable[[Node], bool]) -> Iterator[CallMistake]:
    for child in node.children:
        yield from _mistakes(child, is_text)
    if node.kind is not Kind.FUNCTION_EXPRESSION or not isinstance(node.value, str):
        return
    from chartkit.engine.jmespath.functions import FUNCTIONS

    name, given = node.value, len(node.children)
    spec = FUNCTIONS.get(name)
    if spec is None or not spec.parameters:
        return
    wanted = len(spec.parameters)
    if given < wanted or (given > wanted and not spec.variadic):
        least = "at least " if spec.variadic else ""
        noun = "argument" if wanted == 1 else "arguments"
        hint = f"it is {spec.signature}"
        if name == "sum" and given == 2:
            hint = "add(a, b) adds two numbers; sum() takes one list"
        yield CallMistake(name, f"{name}() takes {least}{wanted} {noun}, not {given}", hint)
    elif name in _ALIKE:
        yield from _operands(name, node.children, is_text)


_ALIKE: Final = frozenset({"add", "subtract", "modulo"})
"""Functions whose operands must both be numbers, or both be texts of quantities or durations."""
_NUMBERS: Final = frozenset({"ceil", "floor", "length", "round", "to_number"})
_NUMERIC: Final = re.compile(r"-?\d+(\.\d+)?")


def _operands(
    name: str, operands: tuple[Node, ...], is_text: Callable[[Node], bool]
) -> Iterator[CallMistake]:
    if not any(map(_is_number, operands)):
        return
    for operand in operands:
        if operand.kind is Kind.LITERAL and isinstance(operand.value, str):
            shown = f"the text '{operand.value}'"
            hint = f"write `{operand.value}`" if _NUMERIC.fullmatch(operand.value) else _TO_NUMBER
        elif is_text(operand):
            shown, hint = "a text", _TO_NUMBER
        else:
            continue
        yield CallMistake(name, f"{name}() of a number and {shown}", hint)


def _is_number(node: Node) -> bool:
    if node.kind is Kind.FUNCTION_EXPRESSION:
        return node.value in _NUMBERS
    is_literal = node.kind is Kind.LITERAL
    return is_literal and isinstance(node.value, int | float) and not isinstance(node.value, bool)
