"""Comments of an expression: found in its text, attached to its tree, moved to where they print.

A comment stands before the part of the expression that it is about: a term of a chain, an
argument, an element, an entry, a branch of a conditional, or the whole. A comment at the end of a
line belongs to the part that ends there; one inside a part, to the part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from chartkit.engine.cel.parser import lexer
from chartkit.engine.cel.parser.lexer import Token
from chartkit.engine.cel.syntax import tree
from chartkit.engine.cel.syntax.tree import Expr
from chartkit.safe_text import escape_controls

_GAP = re.compile(r"//([^\n]*)")
_UNCOUNTED = frozenset("(),")
"""Tokens that formatting may add or remove."""
_OPENERS = frozenset("([{?:")
_SEPARATORS = frozenset({"&&", "||", "?", ":"})
_ENDS = frozenset({*")]}", lexer.IDENTIFIER, lexer.ESCAPED, lexer.INT, lexer.UINT, lexer.FLOAT})
_ENDS |= {lexer.STRING, lexer.BYTES, "true", "false", "null"}


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment; token: which of the tree's tokens it is about, counted from 0."""

    text: str
    token: int


def comments_of(source: str) -> tuple[Comment, ...]:
    """Return the comments of an expression that parses."""
    tokens = lexer.tokenize(source)[0]
    # The number of each token in the tree's order, None for a token that it does not have
    counted: list[int | None] = []
    following = 0
    for index, token in enumerate(tokens):
        if token.kind in _UNCOUNTED or token.kind == lexer.EOF or _is_cancelled(tokens, index):
            counted.append(None)
            continue
        counted.append(following)
        following += 1
    comments: list[Comment] = []
    end = 0
    for index, token in enumerate(tokens):
        gap = source[end : token.offset]
        for match in _GAP.finditer(gap):
            trails = index > 0 and "\n" not in gap[: match.start()]
            at = _ended(tokens, counted, index - 1) if trails else None
            if at is None:
                at = _begun(tokens, counted, index)
            text = escape_controls(match[1].rstrip().removeprefix(" ").replace("\r", " "))
            comments.append(Comment(text, at))
        end = token.offset + len(token.text) * (token.kind != lexer.EOF)
    return tuple(comments)


def _is_cancelled(tokens: list[Token], index: int) -> bool:
    """Report whether a sign is one of a pair that the parser drops: `!!a`, `--a`."""
    kind = tokens[index].kind
    if kind not in ("!", "-") or _is_infix(tokens, index):
        return False
    first = last = index
    while tokens[first - 1].kind == kind and first > 0 and not _is_infix(tokens, first - 1):
        first -= 1
    while tokens[last + 1].kind == kind:
        last += 1
    # Of an odd number the last remains.
    return (last - first) % 2 == 1 or index < last


def _is_infix(tokens: list[Token], index: int) -> bool:
    return index > 0 and tokens[index - 1].kind in _ENDS


def _ended(tokens: list[Token], counted: list[int | None], index: int) -> int | None:
    """Return the number of the last token that a comment behind `index` is about."""
    if tokens[index].kind in _OPENERS or _is_cancelled(tokens, index):
        return None
    while index >= 0:
        if tokens[index].kind == ")":
            depth = 0
            while True:
                depth += (tokens[index].kind == ")") - (tokens[index].kind == "(")
                if depth == 0:
                    break
                index -= 1
            called = index > 0 and tokens[index - 1].kind == lexer.IDENTIFIER
            return _begun(tokens, counted, index - called)
        if counted[index] is not None and tokens[index].kind not in ("&&", "||"):
            return counted[index]
        index -= 1
    return None


def _begun(tokens: list[Token], counted: list[int | None], index: int) -> int:
    """Return the number of the first token that a comment before `index` is about."""
    while index < len(tokens) and (counted[index] is None or tokens[index].kind in _SEPARATORS):
        index += 1
    numbers = [number for number in counted[: index + 1] if number is not None]
    return numbers[-1]


def attach(expr: Expr, comments: tuple[Comment, ...]) -> Expr:
    """Return the tree with its comments, each at the part that it is about."""
    attaching = _Attaching({})
    for comment in comments:
        attaching.pending.setdefault(comment.token, []).append(comment.text)
    return lifted(attaching.expr(expr))


class _Attaching:
    """Counts the tokens of a tree, and wraps the part that has a comment's token."""

    def __init__(self, pending: dict[int, list[str]]) -> None:
        self.pending = pending
        self._position = 0

    def expr(self, expr: Expr) -> Expr:
        comments: list[str] = []
        match expr:
            case tree.Literal():
                value = expr.value
                negative = isinstance(value, int | float) and repr(value).startswith("-")
                self._take(1 + negative, comments)
                made: Expr = expr
            case tree.Ident():
                self._take(1 + expr.name.startswith("."), comments)
                made = expr
            case tree.Select():
                operand = self.expr(expr.operand)
                self._take(2 + expr.optional, comments)
                made = tree.Select(operand, expr.field, expr.optional)
            case tree.Index():
                operand = self.expr(expr.operand)
                self._take(1 + expr.optional, comments)
                key = self.expr(expr.key)
                self._take(1, comments)
                made = tree.Index(operand, key, expr.optional)
            case tree.Call():
                target = None if expr.target is None else self.expr(expr.target)
                self._take(2 if target is not None else 1 + expr.function.startswith("."), comments)
                made = tree.Call(expr.function, target, tuple(map(self.expr, expr.args)))
            case tree.ListLiteral() | tree.MapLiteral() | tree.StructLiteral():
                made = self._braced(expr, comments)
            case tree.Unary():
                self._take(1, comments)
                made = tree.Unary(expr.operator, self.expr(expr.operand))
            case _:
                made = self._joined(expr, comments)
        return tree.Commented(made, tuple(comments)) if comments else made

    def _take(self, count: int, comments: list[str]) -> None:
        """Count tokens of the part itself, and note the comments about them."""
        for position in range(self._position, self._position + count):
            comments += self.pending.pop(position, ())
        self._position += count

    def _joined(self, expr: Expr, comments: list[str]) -> Expr:
        """Visit a part with one token of its own between each two of its parts."""
        first = True

        def visit(part: Expr) -> Expr:
            nonlocal first
            if not first:
                self._take(1, comments)
            first = False
            return self.expr(part)

        return tree.transform(expr, visit)

    def _braced(
        self, expr: tree.ListLiteral | tree.MapLiteral | tree.StructLiteral, comments: list[str]
    ) -> Expr:
        """Visit a literal in brackets; a comment about an entry's mark or field is its value's."""
        if isinstance(expr, tree.StructLiteral):
            self._take(expr.name.count(".") * 2 + 1 - expr.name.startswith("."), comments)
        self._take(1, comments)
        marks = iter(_marks(expr))

        def visit(part: Expr) -> Expr:
            own: list[str] = []
            self._take(next(marks), own)
            made = self.expr(part)
            return tree.Commented(made, tuple(own)) if own else made

        made = tree.transform(expr, visit)
        self._take(1, comments)
        return made


def _marks(expr: tree.ListLiteral | tree.MapLiteral | tree.StructLiteral) -> list[int]:
    """The number of tokens before each part of a literal that are not in a part."""
    match expr:
        case tree.ListLiteral():
            return [int(index in expr.optional_indices) for index in range(len(expr.elements))]
        case tree.MapLiteral():
            return [count for entry in expr.entries for count in (int(entry.optional), 1)]
        case tree.StructLiteral():
            return [2 + entry.optional for entry in expr.fields]


def lifted(expr: Expr) -> Expr:
    """Return the tree with its comments where they are printed.

    They are at the outermost part that begins where they stand, and at no part within a line.
    """
    leading, loose, bare = _lift(expr)
    comments = leading + loose
    return tree.Commented(bare, comments) if comments else bare


_Texts = tuple[str, ...]


def _lift(expr: Expr) -> tuple[_Texts, _Texts, Expr]:
    """Return the comments at the beginning, those inside that no part can have, and the rest."""
    if isinstance(expr, tree.Commented):
        leading, loose, bare = _lift(expr.expr)
        return expr.comments + leading, loose, bare
    leading, loose = (), ()
    # A part begins the expression, is an item, which can have comments, or is within a line.
    match expr:
        case tree.Select():
            kinds = ["first"]
        case tree.Index() | tree.Binary():
            kinds = ["first", "within"]
        case tree.Call():
            names = tree.variables_of(expr)
            in_arguments = ["within"] * names + ["item"] * (len(expr.args) - names)
            kinds = in_arguments if expr.target is None else ["first", *in_arguments]
        case tree.Chain():
            kinds = ["first"] + ["item"] * (len(expr.terms) - 1)
        case tree.Conditional():
            kinds = ["first", "item", "item"]
        case tree.ListLiteral():
            kinds = ["item"] * len(expr.elements)
        case tree.MapLiteral():
            kinds = ["item", "within"] * len(expr.entries)
        case tree.StructLiteral():
            kinds = ["item"] * len(expr.fields)
        case _:
            kinds = ["within"]
    places = iter(kinds)

    def change(part: Expr) -> Expr:
        nonlocal leading, loose
        at_start, inside, bare = _lift(part)
        position = next(places)
        if position == "first":
            leading, loose = leading + at_start, loose + inside
        elif position == "item":
            comments = at_start + inside
            return tree.Commented(bare, comments) if comments else bare
        else:
            loose += at_start + inside
        return bare

    bare = tree.transform(expr, change)
    return leading, loose, bare
