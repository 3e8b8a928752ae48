"""The grammar of Kyverno's JMESPath: the parser of the `jmespath` package over Kyverno's tokens.

Kyverno uses its own fork of go-jmespath. The classes below hold only what that fork accepts,
refuses, or words differently than the package, oddities included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, NoReturn, TypedDict

from jmespath import ast
from jmespath.parser import Parser

from chartkit.engine.jmespath.expression import ExpressionSyntaxError, JMESPathError, LiteralError
from chartkit.engine.jmespath.nodes import MAX_DEPTH, Kind, Node
from chartkit.errors import Reraise
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.strconv import NumberError, parse_int, quote_rune

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
            character = expression[position]
            if character in _DELIMITERS:
                raise ExpressionSyntaxError(f"Unclosed delimiter: {character}", len(expression))
            raise ExpressionSyntaxError(f"Unknown char: {quote_rune(character)}", position)
        if match.lastgroup != "space":
            group = match.lastgroup or ""
            text = match[group]
            if group == "symbol":
                token, value = _SYMBOLS[text], text
            elif group == "literal":
                token, value = "literal", text.replace("\\'", "'")
            elif group == "json_literal":
                token, value = "json_literal", text.replace("\\`", "`")
            elif group != "quoted_identifier":
                token, value = group, text
            else:
                with Reraise("", JsonError, LiteralError):
                    token, value = group, parse_json(f'"{text}"')
            lexemes.append({"type": token, "value": value, "start": position})
        position = match.end()
    lexemes.append({"type": "eof", "value": "", "start": position})
    return lexemes


Tree = dict[str, Any]
"""A node of the package: its type, children and, for some types, value."""

_INDEX_START = frozenset({"number", "colon"})
_DOT_ERROR = "Expected identifier, lbracket, or lbrace"
_TOO_DEEP = "expression nests too deeply"


def parse(expression: str) -> Node:
    """Return the tree of an expression; raise `JMESPathError` with Kyverno's text."""
    try:
        return _node(_KyvernoParser(tokenize(expression)).tree(), 1)
    except RecursionError:
        raise ExpressionSyntaxError(_TOO_DEEP) from None


class _KyvernoParser(Parser):
    BINDING_POWER = dict.fromkeys(TOKENS, 0) | Parser.BINDING_POWER

    def __init__(self, lexemes: list[Lexeme]) -> None:
        super().__init__()
        self._tokens = lexemes
        self._depth = 0

    def tree(self) -> Tree:
        tree = self._expression(0)
        token = self._current_token()
        if token != "eof":
            raise self._error(f"Unexpected token at the end of the expression: {TOKENS[token]}")
        return tree

    def _error(self, message: str) -> ExpressionSyntaxError:
        return ExpressionSyntaxError(message, self._lookahead_token(0)["start"])

    def _expression(self, binding_power: int = 0) -> Tree:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(_TOO_DEEP)
        tree = super()._expression(binding_power)
        self._depth -= 1
        return tree

    # What Kyverno's parser reads differently.

    def _token_nud_json_literal(self, token: Lexeme) -> Tree:
        with Reraise("", JsonError, LiteralError):
            return ast.literal(parse_json(token["value"]))

    def _token_nud_lbracket(self, token: Lexeme) -> Tree:
        if self._current_token() not in _INDEX_START:
            return super()._token_nud_lbracket(token)
        try:
            right = self._parse_index_expression()
        except JMESPathError:
            # Kyverno's parser drops this error and goes on with an empty node.
            return {"type": "empty", "children": []}
        return self._project_if_slice(ast.identity(), right)

    def _token_led_lbracket(self, left: Tree) -> Tree:
        if self._current_token() not in _INDEX_START:
            return super()._token_led_lbracket(left)
        return self._project_if_slice(left, self._parse_index_expression())

    def _parse_index_expression(self) -> Tree:
        if "colon" in (self._current_token(), self._lookahead(1)):
            parts: list[int | None] = [None, None, None]
            index = 0
            while (token := self._current_token()) != "rbracket" and index < len(parts):
                if token == "colon":
                    index += 1
                elif token == "number":
                    parts[index] = _whole(self._lookahead_token(0)["value"])
                else:
                    raise self._error(f"Expected tColon or tNumber, received: {TOKENS[token]}")
                self._advance()
            self._match("rbracket")
            return {"type": "slice", "children": [], "value": tuple(parts)}
        node = ast.index(_whole(self._lookahead_token(0)["value"]))
        self._advance()
        self._match("rbracket")
        return node

    def _token_led_lparen(self, left: Tree) -> Tree:
        # Whatever stands before the parenthesis: a name that is not a string fails in the search.
        name = left.get("value")
        name = name if isinstance(name, str) else None
        return super()._token_led_lparen({"type": "field", "value": name})

    def _parse_comparator(self, left: Tree, comparator: str) -> Tree:
        right = self._expression(self.BINDING_POWER[comparator])
        return ast.comparator(Comparator[comparator.upper()], left, right)

    # Kyverno's messages and offsets.

    def _token_nud_quoted_identifier(self, token: Lexeme) -> Tree:
        if self._current_token() == "lparen":
            message = "Can't have quoted identifier as function Name."
            raise ExpressionSyntaxError(message, token["start"])
        return ast.field(token["value"])

    def _error_nud_token(self, token: Lexeme) -> NoReturn:
        message = f"Invalid token: {TOKENS[token['type']]}"
        if token["type"] == "eof":
            message = "Incomplete expression"
        raise ExpressionSyntaxError(message, token["start"])

    def _error_led_token(self, token: Lexeme) -> NoReturn:
        self._advance()
        raise self._error(f"Unexpected token: {TOKENS[token['type']]}")

    def _raise_parse_error_for_token(self, _: Lexeme, reason: str) -> NoReturn:
        raise self._error("Error" if reason == "syntax error" else _DOT_ERROR)

    def _raise_parse_error_maybe_eof(
        self, expected: str | Sequence[str], token: Lexeme
    ) -> NoReturn:
        if isinstance(expected, str):
            received = TOKENS[token["type"]]
            raise self._error(f"Expected {TOKENS[expected]}, received: {received}")
        raise self._error(f"Expected {' or '.join(TOKENS[name] for name in expected)}")


def _node(tree: Tree, level: int) -> Node:
    """Return the node of a tree; the package puts the parts of `a.b.c` next to each other."""
    if level > MAX_DEPTH:
        raise ExpressionSyntaxError(_TOO_DEEP)
    kind = Kind[tree["type"].upper()]
    children = [_node(child, level + 1) for child in tree["children"]]
    while len(children) > 2 and kind is Kind.SUBEXPRESSION:
        children[:2] = [Node(kind, children=tuple(children[:2]))]
    return Node(kind, tree.get("value"), tuple(children))


def _whole(text: str) -> int:
    try:
        return parse_int(text)
    except NumberError as error:
        message = str(error).replace("strconv.ParseInt", "strconv.Atoi", 1)
        raise JMESPathError(message) from error
