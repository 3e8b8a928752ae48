"""Expressions cut into tokens, as Kyverno's fork of go-jmespath cuts them."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final, TypedDict

from chartkit.engine.jmespath.errors import ExpressionSyntaxError, LiteralError
from chartkit.errors import Reraise
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.strconv import quote_rune

_NAMES: Final = (
    *("unknown", "star", "dot", "filter", "flatten", "lparen", "rparen", "lbracket", "rbracket"),
    *("lbrace", "rbrace", "or", "pipe", "number", "unquoted_identifier", "quoted_identifier"),
    *("comma", "colon", "current", "expref", "and", "not"),
)
TOKENS: Final = {
    **{name: f"t{name.title().replace('_', '')}" for name in _NAMES},
    **{name: f"t{name.upper()}" for name in ("lt", "lte", "gt", "gte", "eq", "ne", "eof")},
    "json_literal": "tJSONLiteral",
    "literal": "tStringLiteral",
}
"""The types of tokens, as the `jmespath` package names them, with their names in messages."""


class Comparator(IntEnum):
    """The comparing tokens; the numbers are those that Kyverno prints in messages."""

    LT = 18
    LTE = 19
    GT = 20
    GTE = 21
    EQ = 22
    NE = 23


class Lexeme(TypedDict):
    """A token as the `jmespath` package takes it.

    value is its text (names and strings already decoded) and start where it begins.
    """

    type: str
    value: str
    start: int


_SYMBOLS = {
    "[?": "filter",
    "[]": "flatten",
    "||": "or",
    "&&": "and",
    "<=": "lte",
    ">=": "gte",
    "==": "eq",
    "!=": "ne",
    "[": "lbracket",
    "]": "rbracket",
    "{": "lbrace",
    "}": "rbrace",
    "(": "lparen",
    ")": "rparen",
    ".": "dot",
    "*": "star",
    ",": "comma",
    ":": "colon",
    "@": "current",
    "|": "pipe",
    "&": "expref",
    "<": "lt",
    ">": "gt",
    "!": "not",
    "=": "unknown",
}
_TOKEN = re.compile(
    r"""(?P<space>[ \t\n\r]++)
    |(?P<unquoted_identifier>[A-Za-z_][A-Za-z0-9_]*+)
    |(?P<number>-[0-9]*+|[0-9]++)
    |(?P<symbol>\[\?|\[\]|\|\||&&|<=|>=|==|!=|[\[\]{}().*,:@|&<>!=])
    |"(?P<quoted_identifier>(?:\\.|[^"\\])*+)"
    |'(?P<literal>(?:\\'|[^'])*+)'
    |`(?P<json_literal>(?:\\.|[^`\\])*+)`
    """,
    re.VERBOSE | re.DOTALL,
)
_DELIMITERS = "\"'`"


def tokenize(expression: str) -> list[Lexeme]:
    """Return the tokens of an expression, the last one `eof`; raise `JMESPathError`."""
    lexemes: list[Lexeme] = []
    position = 0
    while position < len(expression):
        match = _TOKEN.match(expression, position)
        if match is None:
            raise _unknown(expression, position)
        if match.lastgroup != "space":
            token, value = _decode(match)
            lexemes.append({"type": token, "value": value, "start": position})
        position = match.end()
    lexemes.append({"type": "eof", "value": "", "start": position})
    return lexemes


def _decode(match: re.Match[str]) -> tuple[str, str]:
    group = match.lastgroup or ""
    text = match[group]
    if group == "symbol":
        return _SYMBOLS[text], text
    if group == "literal":
        return "literal", text.replace("\\'", "'")
    if group == "json_literal":
        return "json_literal", text.replace("\\`", "`")
    if group != "quoted_identifier":
        return group, text
    with Reraise("", JsonError, LiteralError):
        return group, parse_json(f'"{text}"')


def _unknown(expression: str, position: int) -> ExpressionSyntaxError:
    character = expression[position]
    if character in _DELIMITERS:
        return ExpressionSyntaxError(f"Unclosed delimiter: {character}", len(expression))
    return ExpressionSyntaxError(f"Unknown char: {quote_rune(character)}", position)
