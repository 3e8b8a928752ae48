"""The grammar of Kyverno's JMESPath: a Pratt parser over the tokens.

It follows Kyverno's fork of go-jmespath to the letter, oddities included, because its messages
reach the user and because it takes (and refuses) other texts than the JMESPath specification.
"""

from __future__ import annotations

from chartkit.engine.jmespath.errors import (
    ExpressionSyntaxError,
    JMESPathError,
    LiteralError,
)
from chartkit.engine.jmespath.lexer import Lexeme, Token, tokenize
from chartkit.engine.jmespath.nodes import IDENTITY, MAX_DEPTH, Kind, Node
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.strconv import NumberError, parse_int

_BINDING = {
    Token.PIPE: 1,
    Token.OR: 2,
    Token.AND: 3,
    Token.EQ: 5,
    Token.NE: 5,
    Token.LT: 5,
    Token.LTE: 5,
    Token.GT: 5,
    Token.GTE: 5,
    Token.FLATTEN: 9,
    Token.STAR: 20,
    Token.FILTER: 21,
    Token.DOT: 40,
    Token.NOT: 45,
    Token.LBRACE: 50,
    Token.LBRACKET: 55,
    Token.LPAREN: 60,
}
"""Tokens that are not named bind nothing."""

_PROJECTION_STOP = 10
_INFIX = {Token.PIPE: Kind.PIPE, Token.OR: Kind.OR, Token.AND: Kind.AND}
_COMPARATORS = frozenset({Token.EQ, Token.NE, Token.LT, Token.LTE, Token.GT, Token.GTE})
_NAMES = frozenset({Token.QUOTED_IDENTIFIER, Token.UNQUOTED_IDENTIFIER, Token.STAR})


def parse(expression: str) -> Node:
    """The tree of an expression; raises `JMESPathError` with Kyverno's text."""
    return _Parser(tokenize(expression)).parse()


class _Parser:
    def __init__(self, lexemes: list[Lexeme]) -> None:
        self._lexemes = lexemes
        self._index = 0
        self._depth = 0

    def parse(self) -> Node:
        node = self._expression(0)
        if self._current is not Token.EOF:
            raise self._error(f"Unexpected token at the end of the expression: {self._current}")
        return node

    @property
    def _current(self) -> Token:
        return self._ahead(0).token

    def _ahead(self, number: int) -> Lexeme:
        # Go would read past the end and panic; the end mark stands in for what is not there.
        return self._lexemes[min(self._index + number, len(self._lexemes) - 1)]

    def _match(self, token: Token) -> None:
        if self._current is not token:
            raise self._error(f"Expected {token}, received: {self._current}")
        self._index += 1

    def _error(self, message: str) -> ExpressionSyntaxError:
        return ExpressionSyntaxError(message, self._ahead(0).position)

    def _expression(self, binding: int) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error("expression nests too deeply")
        lexeme = self._ahead(0)
        self._index += 1
        node = self._prefix(lexeme)
        while binding < _BINDING.get(self._current, 0):
            token = self._current
            self._index += 1
            node = self._infix(token, node)
        self._depth -= 1
        return node

    def _prefix(self, lexeme: Lexeme) -> Node:
        method = _PREFIX.get(lexeme.token)
        if method is None:
            message = f"Invalid token: {lexeme.token}"
            if lexeme.token is Token.EOF:
                message = "Incomplete expression"
            raise ExpressionSyntaxError(message, lexeme.position)
        return method(self, lexeme)

    def _json_literal(self, lexeme: Lexeme) -> Node:
        try:
            return Node(Kind.LITERAL, parse_json(lexeme.value))
        except JsonError as error:
            raise LiteralError(str(error)) from error

    def _raw_string(self, lexeme: Lexeme) -> Node:
        return Node(Kind.LITERAL, lexeme.value)

    def _name(self, lexeme: Lexeme) -> Node:
        return Node(Kind.FIELD, lexeme.value)

    def _quoted_name(self, lexeme: Lexeme) -> Node:
        if self._current is Token.LPAREN:
            message = "Can't have quoted identifier as function Name."
            raise ExpressionSyntaxError(message, lexeme.position)
        return Node(Kind.FIELD, lexeme.value)

    def _all_values(self, _: Lexeme) -> Node:
        right = IDENTITY
        if self._current is not Token.RBRACKET:
            right = self._projected(_BINDING[Token.STAR])
        return Node(Kind.VALUE_PROJECTION, children=(IDENTITY, right))

    def _filter_here(self, _: Lexeme) -> Node:
        return self._filter(IDENTITY)

    def _hash(self, _: Lexeme) -> Node:
        return self._multi_select_hash()

    def _flatten_here(self, _: Lexeme) -> Node:
        return self._flatten(IDENTITY)

    def _bracket(self, _: Lexeme) -> Node:
        if self._current in (Token.NUMBER, Token.COLON):
            try:
                right = self._index_or_slice()
            except JMESPathError:
                # Kyverno's parser drops this error and goes on with an empty node.
                return Node(Kind.EMPTY)
            return self._indexed(IDENTITY, right)
        if self._current is Token.STAR and self._ahead(1).token is Token.RBRACKET:
            self._index += 2
            right = self._projected(_BINDING[Token.STAR])
            return Node(Kind.PROJECTION, children=(IDENTITY, right))
        return self._multi_select_list()

    def _current_node(self, _: Lexeme) -> Node:
        return Node(Kind.CURRENT)

    def _reference(self, _: Lexeme) -> Node:
        return Node(Kind.EXPREF, children=(self._expression(0),))

    def _not(self, _: Lexeme) -> Node:
        return Node(Kind.NOT, children=(self._expression(_BINDING[Token.NOT]),))

    def _group(self, _: Lexeme) -> Node:
        node = self._expression(0)
        self._match(Token.RPAREN)
        return node

    def _infix(self, token: Token, left: Node) -> Node:
        if token is Token.DOT:
            return self._dot(left)
        if token in _INFIX:
            return Node(_INFIX[token], children=(left, self._expression(_BINDING[token])))
        if token is Token.LPAREN:
            return self._call(left)
        if token is Token.FILTER:
            return self._filter(left)
        if token is Token.FLATTEN:
            return self._flatten(left)
        if token in _COMPARATORS:
            right = self._expression(_BINDING[token])
            return Node(Kind.COMPARATOR, token, (left, right))
        if token is Token.LBRACKET:
            return self._bracket_after(left)
        raise self._error(f"Unexpected token: {token}")

    def _dot(self, left: Node) -> Node:
        binding = _BINDING[Token.DOT]
        if self._current is not Token.STAR:
            return Node(Kind.SUBEXPRESSION, children=(left, self._after_dot(binding)))
        self._index += 1
        return Node(Kind.VALUE_PROJECTION, children=(left, self._projected(binding)))

    def _call(self, left: Node) -> Node:
        arguments = []
        while self._current is not Token.RPAREN:
            arguments.append(self._expression(0))
            if self._current is Token.COMMA:
                self._index += 1
        self._index += 1
        return Node(Kind.FUNCTION, left.value, tuple(arguments))

    def _bracket_after(self, left: Node) -> Node:
        if self._current in (Token.NUMBER, Token.COLON):
            return self._indexed(left, self._index_or_slice())
        self._match(Token.STAR)
        self._match(Token.RBRACKET)
        return Node(Kind.PROJECTION, children=(left, self._projected(_BINDING[Token.STAR])))

    def _index_or_slice(self) -> Node:
        if Token.COLON in (self._current, self._ahead(1).token):
            return self._slice()
        number = _whole(self._ahead(0).value)
        self._index += 1
        self._match(Token.RBRACKET)
        return Node(Kind.INDEX, number)

    def _slice(self) -> Node:
        parts: list[int | None] = [None, None, None]
        index = 0
        while self._current is not Token.RBRACKET and index < len(parts):
            if self._current is Token.COLON:
                index += 1
            elif self._current is Token.NUMBER:
                parts[index] = _whole(self._ahead(0).value)
            else:
                raise self._error(f"Expected tColon or tNumber, received: {self._current}")
            self._index += 1
        self._match(Token.RBRACKET)
        return Node(Kind.SLICE, tuple(parts))

    def _indexed(self, left: Node, right: Node) -> Node:
        node = Node(Kind.INDEX_EXPRESSION, children=(left, right))
        if right.kind is not Kind.SLICE:
            return node
        return Node(Kind.PROJECTION, children=(node, self._projected(_BINDING[Token.STAR])))

    def _filter(self, left: Node) -> Node:
        condition = self._expression(0)
        self._match(Token.RBRACKET)
        right = IDENTITY
        if self._current is not Token.FLATTEN:
            right = self._projected(_BINDING[Token.FILTER])
        return Node(Kind.FILTER_PROJECTION, children=(left, right, condition))

    def _flatten(self, left: Node) -> Node:
        flat = Node(Kind.FLATTEN, children=(left,))
        return Node(Kind.PROJECTION, children=(flat, self._projected(_BINDING[Token.FLATTEN])))

    def _projected(self, binding: int) -> Node:
        """What a projection applies to each of its elements."""
        current = self._current
        if _BINDING.get(current, 0) < _PROJECTION_STOP:
            return IDENTITY
        if current in (Token.LBRACKET, Token.FILTER):
            return self._expression(binding)
        if current is Token.DOT:
            self._index += 1
            return self._after_dot(binding)
        raise self._error("Error")

    def _after_dot(self, binding: int) -> Node:
        current = self._current
        if current in _NAMES:
            return self._expression(binding)
        if current is Token.LBRACKET:
            self._index += 1
            return self._multi_select_list()
        if current is Token.LBRACE:
            self._index += 1
            return self._multi_select_hash()
        raise self._error("Expected identifier, lbracket, or lbrace")

    def _multi_select_list(self) -> Node:
        members = [self._expression(0)]
        while self._current is not Token.RBRACKET:
            self._match(Token.COMMA)
            members.append(self._expression(0))
        self._index += 1
        return Node(Kind.MULTI_SELECT_LIST, children=tuple(members))

    def _multi_select_hash(self) -> Node:
        members = []
        while True:
            key = self._ahead(0)
            if key.token not in (Token.UNQUOTED_IDENTIFIER, Token.QUOTED_IDENTIFIER):
                raise self._error("Expected tQuotedIdentifier or tUnquotedIdentifier")
            self._index += 1
            self._match(Token.COLON)
            members.append(Node(Kind.KEY_VALUE, key.value, (self._expression(0),)))
            if self._current is Token.COMMA:
                self._index += 1
            elif self._current is Token.RBRACE:
                self._index += 1
                return Node(Kind.MULTI_SELECT_HASH, children=tuple(members))


_PREFIX = {
    Token.JSON_LITERAL: _Parser._json_literal,
    Token.STRING_LITERAL: _Parser._raw_string,
    Token.UNQUOTED_IDENTIFIER: _Parser._name,
    Token.QUOTED_IDENTIFIER: _Parser._quoted_name,
    Token.STAR: _Parser._all_values,
    Token.FILTER: _Parser._filter_here,
    Token.LBRACE: _Parser._hash,
    Token.FLATTEN: _Parser._flatten_here,
    Token.LBRACKET: _Parser._bracket,
    Token.CURRENT: _Parser._current_node,
    Token.EXPREF: _Parser._reference,
    Token.NOT: _Parser._not,
    Token.LPAREN: _Parser._group,
}


def _whole(text: str) -> int:
    try:
        return parse_int(text)
    except NumberError as error:
        message = str(error).replace("strconv.ParseInt", "strconv.Atoi", 1)
        raise JMESPathError(message) from error
