"""Expressions cut into tokens, as Kyverno's fork of go-jmespath cuts them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from chartkit.engine.jmespath.errors import ExpressionSyntaxError, LiteralError
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.quoting import quote_rune


class Token(IntEnum):
    """The kinds of tokens; names and numbers are those of Kyverno's messages."""

    UNKNOWN = 0
    STAR = 1
    DOT = 2
    FILTER = 3
    FLATTEN = 4
    LPAREN = 5
    RPAREN = 6
    LBRACKET = 7
    RBRACKET = 8
    LBRACE = 9
    RBRACE = 10
    OR = 11
    PIPE = 12
    NUMBER = 13
    UNQUOTED_IDENTIFIER = 14
    QUOTED_IDENTIFIER = 15
    COMMA = 16
    COLON = 17
    LT = 18
    LTE = 19
    GT = 20
    GTE = 21
    EQ = 22
    NE = 23
    JSON_LITERAL = 24
    STRING_LITERAL = 25
    CURRENT = 26
    EXPREF = 27
    AND = 28
    NOT = 29
    EOF = 30

    def __str__(self) -> str:
        return _NAMES.get(self, f"t{self.name.capitalize()}")


_NAMES = {
    Token.UNQUOTED_IDENTIFIER: "tUnquotedIdentifier",
    Token.QUOTED_IDENTIFIER: "tQuotedIdentifier",
    Token.JSON_LITERAL: "tJSONLiteral",
    Token.STRING_LITERAL: "tStringLiteral",
    Token.LT: "tLT",
    Token.LTE: "tLTE",
    Token.GT: "tGT",
    Token.GTE: "tGTE",
    Token.EQ: "tEQ",
    Token.NE: "tNE",
    Token.EOF: "tEOF",
}


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token with its text (names and strings already decoded) and where it begins."""

    token: Token
    value: str
    position: int


_SYMBOLS = {
    "[?": Token.FILTER,
    "[]": Token.FLATTEN,
    "||": Token.OR,
    "&&": Token.AND,
    "<=": Token.LTE,
    ">=": Token.GTE,
    "==": Token.EQ,
    "!=": Token.NE,
    "[": Token.LBRACKET,
    "]": Token.RBRACKET,
    "{": Token.LBRACE,
    "}": Token.RBRACE,
    "(": Token.LPAREN,
    ")": Token.RPAREN,
    ".": Token.DOT,
    "*": Token.STAR,
    ",": Token.COMMA,
    ":": Token.COLON,
    "@": Token.CURRENT,
    "|": Token.PIPE,
    "&": Token.EXPREF,
    "<": Token.LT,
    ">": Token.GT,
    "!": Token.NOT,
    "=": Token.UNKNOWN,
}
_TOKEN = re.compile(
    r"""(?P<space>[ \t\n\r]++)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*+)
    |(?P<number>-[0-9]*+|[0-9]++)
    |(?P<symbol>\[\?|\[\]|\|\||&&|<=|>=|==|!=|[\[\]{}().*,:@|&<>!=])
    |"(?P<quoted>(?:\\.|[^"\\])*+)"
    |'(?P<raw>(?:\\'|[^'])*+)'
    |`(?P<literal>(?:\\.|[^`\\])*+)`
    """,
    re.VERBOSE | re.DOTALL,
)
_DELIMITERS = "\"'`"


def tokenize(expression: str) -> list[Lexeme]:
    """The tokens of an expression, the last one `EOF`; raises `JMESPathError`."""
    lexemes, position = [], 0
    while position < len(expression):
        match = _TOKEN.match(expression, position)
        if match is None:
            raise _unknown(expression, position)
        if match.lastgroup != "space":
            lexemes.append(_lexeme(match, position))
        position = match.end()
    lexemes.append(Lexeme(Token.EOF, "", position))
    return lexemes


def _lexeme(match: re.Match[str], position: int) -> Lexeme:
    group = match.lastgroup or ""
    text = match[group]
    if group == "symbol":
        return Lexeme(_SYMBOLS[text], text, position)
    if group == "name":
        return Lexeme(Token.UNQUOTED_IDENTIFIER, text, position)
    if group == "number":
        return Lexeme(Token.NUMBER, text, position)
    if group == "raw":
        return Lexeme(Token.STRING_LITERAL, text.replace("\\'", "'"), position)
    if group == "literal":
        return Lexeme(Token.JSON_LITERAL, text.replace("\\`", "`"), position)
    try:
        return Lexeme(Token.QUOTED_IDENTIFIER, parse_json(f'"{text}"'), position)
    except JsonError as error:
        raise LiteralError(str(error)) from error


def _unknown(expression: str, position: int) -> ExpressionSyntaxError:
    character = expression[position]
    if character in _DELIMITERS:
        return ExpressionSyntaxError(f"Unclosed delimiter: {character}", len(expression))
    return ExpressionSyntaxError(f"Unknown char: {quote_rune(character)}", position)
