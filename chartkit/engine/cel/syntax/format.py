"""A tree as text: parentheses only where they are needed, on one line where it fits.

What is too long breaks from the outside: chains of `&&` and `||` with the operator at the end of
the line, conditionals before `?` and `:`, calls, lists and maps within their brackets. A macro
keeps its variables on its first line. The text parses to the same tree, and depends on nothing
but the tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import count, repeat
from types import MappingProxyType
from typing import ClassVar, Final, TypeAlias

from chartkit.engine.cel import ast
from chartkit.engine.cel.syntax import tree
from chartkit.engine.cel.syntax.comments import lifted
from chartkit.engine.cel.syntax.reading import from_parser, nesting_limit
from chartkit.engine.cel.syntax.tree import Expr
from chartkit.engine.cel.values import Scalar


@dataclass(frozen=True, slots=True)
class Line:
    """A place to break; flat: its text where the group stands on one line, None to break always."""

    flat: str | None
    breakable: ClassVar[bool] = True

    @property
    def forced(self) -> bool:
        """Report whether a line breaks in any case."""
        return self.flat is None


@dataclass(frozen=True, slots=True)
class Joined:
    """Documents one after the other.

    forced: a line breaks in any case; breakable: there is a place to break; nested: further lines
    are indented by one more step; grouped: they break as a whole or not at all.
    """

    parts: tuple[Document, ...]
    forced: bool
    breakable: bool
    nested: bool = False
    grouped: bool = False


Document: TypeAlias = str | Line | Joined

LINE: Final = Line(" ")
SOFT: Final = Line("")
HARD: Final = Line(None)


def joined(*parts: Document, nested: bool = False, grouped: bool = False) -> Joined:
    forced = any(not isinstance(part, str) and part.forced for part in parts)
    return Joined(parts, forced, any(map(is_breakable, parts)), nested, grouped)


nest: Final = partial(joined, nested=True)
group: Final = partial(joined, grouped=True)


def separated(separator: str, parts: Sequence[Document]) -> tuple[Document, ...]:
    """Return documents with the separator and a place to break behind each but the last."""
    spread: list[Document] = []
    for part in parts:
        spread += [separator, LINE] if spread else []
        spread.append(part)
    return tuple(spread)


def is_breakable(document: Document) -> bool:
    """Report whether a document has a place to break."""
    return not isinstance(document, str) and document.breakable


_Pending: TypeAlias = list[tuple[int, bool, Document]]
"""Documents still to be written, the next one last: depth, whether lines break, document."""


def render(document: Document, width: float, indent: int) -> str:
    """Return the text of a document; indent: the spaces of one step."""
    written: list[str] = []
    column = 0
    pending: _Pending = [(0, True, document)]
    while pending:
        depth, broken, part = pending.pop()
        match part:
            case str():
                written.append(part)
                column += len(part)
            case Line(flat) if broken or flat is None:
                column = depth * indent
                written.append("\n" + " " * column)
            case Line(flat):
                pending.append((depth, broken, flat or ""))
            case Joined():
                if part.grouped and broken and not part.forced:
                    broken = not _fits(width - column, part, pending)
                depth += part.nested
                pending += [(depth, broken, piece) for piece in reversed(part.parts)]
    return "".join(written)


def _fits(room: float, inner: Joined, behind: _Pending) -> bool:
    """Report whether a group fits on the line with what follows it up to a place to break."""
    rest: list[Document] = [inner]
    position, inside = len(behind), True
    while room >= 0:
        if not rest:
            if position == 0:
                return True
            position -= 1
            inside = False
            rest.append(behind[position][2])
            continue
        part = rest.pop()
        match part:
            case str():
                room -= len(part)
            case Line():
                if not inside or part.flat is None:
                    return True
                room -= len(part.flat)
            case Joined():
                rest += reversed(part.parts)
    return False


WIDTH = 100
"""The greatest width of a line, where it can be kept."""
INDENT = 2
_NO_MACROS: Mapping[int, ast.MacroCall] = MappingProxyType({})


class _Level(IntEnum):
    """The binding strength of a text."""

    CONDITIONAL = 1
    OR = 2
    AND = 3
    RELATION = 4
    SUM = 5
    PRODUCT = 6
    UNARY = 7
    MEMBER = 8


_LEVELS = {
    "||": _Level.OR,
    "&&": _Level.AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), _Level.RELATION),
    **dict.fromkeys("+-", _Level.SUM),
    **dict.fromkeys("*/%", _Level.PRODUCT),
}


def format_expression(expr: Expr, width: float = WIDTH, indent: int = INDENT) -> str:
    """Return the text of an expression; indent: the spaces of one step.

    A single text, name or number may be longer than a line. `width=math.inf` gives one line,
    unless there are comments. Raises `CelCompileError` for one that nests too deep.
    """
    with nesting_limit():
        return render(_Writer(tree.authored).item(lifted(expr)), width, indent)


def unparse(expr: ast.Expr, macro_calls: Mapping[int, ast.MacroCall] = _NO_MACROS) -> str:
    """Return the text of one of the parser's trees on one line, its constants as cel-go has them.

    macro_calls: of `Parsed`, for macros to be as written. A comprehension that is not
    a macro is shown as `fold(…)`, which is not CEL. Raises `CelCompileError` for a tree that nests
    too deep.
    """
    with nesting_limit():
        authored = from_parser(expr, macro_calls)
        return render(_Writer(tree.reference).item(authored), math.inf, INDENT)


def _level(expr: Expr) -> _Level:
    match expr:
        case tree.Conditional():
            return _Level.CONDITIONAL
        case tree.Chain() | tree.Binary():
            return _LEVELS[expr.operator]
        case tree.Unary():
            return _Level.UNARY
        case tree.Commented():
            return _level(expr.expr)
        case _:
            return _Level.MEMBER


class _Indented(IntEnum):
    """The parts whose further lines are indented; BRANCH: of a conditional, all."""

    NEVER = 0
    CHAIN = 1
    BRANCH = 2


class _Writer:
    """Makes the documents of expressions."""

    def __init__(self, spell: Callable[[Scalar], str]) -> None:
        self._spell = spell

    def item(
        self,
        expr: Expr,
        mark: str = "",
        least: _Level = _Level.CONDITIONAL,
        indented: _Indented = _Indented.NEVER,
    ) -> Joined:
        """Return a part that may have comments before it; mark: its first characters."""
        comments: tuple[str, ...] = ()
        while isinstance(expr, tree.Commented):
            comments, expr = comments + expr.comments, expr.expr
        document = self._indented(expr, least, indented)
        lines = (part for text in comments for part in (f"// {text}".rstrip(), HARD))
        return joined(*lines, mark, document)

    def _within(self, expr: Expr, least: _Level) -> Document:
        """Return an expression, in parentheses where it binds less than `least`."""
        document = self._expr(expr)
        if _level(expr) >= least:
            return document
        return group("(", nest(SOFT, document), SOFT, ")")

    def _expr(self, expr: Expr) -> Document:
        match expr:
            case tree.Literal():
                return self._spell(expr.value)
            case tree.Ident():
                return expr.name
            case tree.Select():
                dot = ".?" if expr.optional else "."
                operand = self._within(expr.operand, _Level.MEMBER)
                return joined(operand, dot, tree.field_name(expr.field))
            case tree.Index():
                operand = self._within(expr.operand, _Level.MEMBER)
                return joined(operand, "[?" if expr.optional else "[", self.item(expr.key), "]")
            case tree.Call():
                start: Document = f"{expr.function}("
                if expr.target is not None:
                    start = joined(self._within(expr.target, _Level.MEMBER), f".{start}")
                names = tree.variables_of(expr)
                if names:
                    head = [f"{name}, " for name in map(self._name, expr.args[: names - 1])]
                    head.append(f"{self._name(expr.args[names - 1])},")
                    body = separated(",", self._members(expr.args[names:]))
                    return joined(start, group(*head, nest(LINE, *body), SOFT, ")"))
                args = self._members(expr.args)
                if not args or (len(args) == 1 and _hugs(expr.args[0])):
                    return joined(start, *args, ")")
                return joined(start, group(nest(SOFT, *separated(",", args)), SOFT, ")"))
            case tree.Unary():
                return self._unary(expr)
            case tree.Binary():
                return self._binary(expr)
            case tree.Chain():
                canonical = tree.chain(expr.operator, expr.terms)
                if not isinstance(canonical, tree.Chain):
                    return self._expr(canonical)
                closer = _Level(_LEVELS[expr.operator] + 1)
                terms = [
                    self.item(term, least=closer, indented=_Indented.CHAIN)
                    for term in canonical.terms
                ]
                return group(*separated(f" {expr.operator}", terms))
            case tree.Conditional():
                return self._conditional(expr)
            case tree.Commented():
                return self.item(expr)
            case _:
                return self._braced(expr)

    def _members(self, exprs: Sequence[Expr], marks: Iterable[str] = repeat("")) -> list[Joined]:
        """Return arguments or elements; of several, each chain has its further lines indented."""
        indented = _Indented.CHAIN if len(exprs) > 1 else _Indented.NEVER
        pairs = zip(exprs, marks, strict=False)
        return [self.item(expr, mark, indented=indented) for expr, mark in pairs]

    def _name(self, expr: Expr) -> str:
        return expr.name if isinstance(expr, tree.Ident) else ""

    def _unary(self, expr: tree.Unary) -> Document:
        operand = self._within(expr.operand, _Level.MEMBER)
        # A minus before a number is the number's own.
        if expr.operator == "-" and _starts_with_number(expr.operand):
            return joined("-(", operand, ")")
        return joined(expr.operator, operand)

    def _binary(self, expr: tree.Binary) -> Document:
        level = _LEVELS[expr.operator]
        left, right = expr.left, self._within(expr.right, _Level(level + 1))
        steps: list[tuple[str, Document]] = [(expr.operator, right)]
        while level == _Level.SUM and isinstance(left, tree.Binary) and _level(left) == level:
            steps.append((left.operator, self._within(left.right, _Level(level + 1))))
            left = left.left
        first = self._within(left, level)
        steps.reverse()
        if len(steps) == 1 and self._is_hugged(level, (first, right), (left, expr.right)):
            return joined(first, f" {expr.operator} ", right)
        rest = (part for sign, term in steps for part in (f" {sign}", LINE, term))
        return group(first, nest(*rest))

    def _is_hugged(
        self, level: _Level, documents: Sequence[Document], exprs: Sequence[Expr]
    ) -> bool:
        """Report whether lines break inside the operands and not between them."""
        if level == _Level.SUM:
            return any(map(_is_braced, exprs)) or _level(exprs[1]) < level
        return any(map(is_breakable, documents))

    def _conditional(self, expr: tree.Conditional, *, branch: bool = False) -> Document:
        condition = self._within(expr.condition, _Level.OR)
        then = self.item(expr.then, "? ", _Level.OR, _Indented.BRANCH)
        otherwise = self.item(expr.otherwise, ": ", indented=_Indented.BRANCH)
        start = nest(condition) if branch else condition
        return group(start, nest(LINE, then, LINE, otherwise))

    def _indented(self, expr: Expr, least: _Level, indented: _Indented) -> Document:
        """Return a part with its further lines indented once, if they are to be."""
        enclosed = _level(expr) < least
        if indented == _Indented.BRANCH and isinstance(expr, tree.Conditional) and not enclosed:
            return self._conditional(expr, branch=True)
        document = self._within(expr, least)
        if indented == _Indented.BRANCH:
            is_group = isinstance(document, Joined) and document.grouped
            sums = isinstance(expr, tree.Binary) and is_group and not enclosed
            return document if sums else nest(document)
        chains = indented == _Indented.CHAIN and isinstance(expr, tree.Chain) and not enclosed
        return nest(document) if chains else document

    def _braced(self, expr: tree.ListLiteral | tree.MapLiteral | tree.StructLiteral) -> Document:
        match expr:
            case tree.ListLiteral():
                marks = ("?" if index in expr.optional_indices else "" for index in count())
                return _enclosed("[", self._members(expr.elements, marks), "]")
            case tree.MapLiteral():
                return _enclosed("{", list(map(self._entry, expr.entries)), "}")
            case tree.StructLiteral():
                return _enclosed(f"{expr.name}{{", list(map(self._field, expr.fields)), "}")

    def _entry(self, entry: tree.MapEntry) -> Document:
        key = self.item(entry.key, "?" if entry.optional else "")
        return joined(key, ": ", self.item(entry.value, indented=_Indented.CHAIN))

    def _field(self, entry: tree.FieldEntry) -> Document:
        mark = "?" if entry.optional else ""
        start = f"{mark}{tree.field_name(entry.field)}: "
        return self.item(entry.value, start, indented=_Indented.CHAIN)


def _enclosed(opening: str, members: Sequence[Document], closing: str) -> Document:
    if not members:
        return opening + closing
    return group(opening, nest(SOFT, *separated(",", members)), SOFT, closing)


def _is_braced(expr: Expr) -> bool:
    return isinstance(expr, tree.ListLiteral | tree.MapLiteral | tree.StructLiteral)


def _hugs(expr: Expr) -> bool:
    """Report whether a call's only argument needs no lines of its own."""
    match expr:
        case tree.Select():
            return _hugs(expr.operand)
        case tree.Index():
            return _hugs(expr.operand) and _hugs(expr.key)
        case tree.Literal() | tree.Ident():
            return True
        case _:
            return _is_braced(expr)


def _starts_with_number(expr: Expr) -> bool:
    match expr:
        case tree.Select() | tree.Index():
            return _starts_with_number(expr.operand)
        case tree.Call(target=target) if target is not None:
            return _starts_with_number(target)
        case tree.Literal():
            return isinstance(expr.value, int | float) and not isinstance(expr.value, bool)
        case _:
            return False
