"""The tree of an expression as an author writes it.

It differs from the parser's tree (`chartkit.engine.cel.ast`): macros and `has` are calls,
operators are nodes of their own, a chain of `&&` or `||` is one node, and nodes have no ids and no
places. Two trees are equal where they print the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from chartkit.engine.cel.parser.lexer import KEYWORDS
from chartkit.engine.cel.values import Scalar, Uint


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: null, bool, int, `Uint`, float, str or bytes."""

    value: Scalar

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[type, str]:
        """The type and the text, by which 1, 1.0, 1u and true differ."""
        return type(self.value), repr(self.value)


@dataclass(frozen=True, slots=True)
class Ident:
    """A variable; a leading dot is part of the name."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field` or, if optional, `operand.?field`."""

    operand: Expr
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]` or, if optional, `operand[?key]`."""

    operand: Expr
    key: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """`function(args)` or `target.function(args)`; a macro is a call."""

    function: str
    target: Expr | None
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """`!operand` or `-operand`."""

    operator: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """An operation of two operands: a relation (`==`, `in` …), a sum or a product."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Chain:
    """Terms joined by `&&` or by `||`; `chain` makes one."""

    operator: str
    terms: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`condition ? then : otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[a, ?b]`; optional_indices: the elements with a question mark."""

    elements: tuple[Expr, ...]
    optional_indices: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MapEntry:
    """`key: value` or `?key: value`."""

    key: Expr
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """`{key: value}`."""

    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True)
class FieldEntry:
    """`field: value` or `?field: value` of a typed object."""

    field: str
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class StructLiteral:
    """`Name{field: value}`."""

    name: str
    fields: tuple[FieldEntry, ...]


@dataclass(frozen=True, slots=True)
class Commented:
    """An expression with lines of comments before it, each without its slashes."""

    expr: Expr
    comments: tuple[str, ...]


Expr: TypeAlias = (
    Literal
    | Ident
    | Select
    | Index
    | Call
    | Unary
    | Binary
    | Chain
    | Conditional
    | ListLiteral
    | MapLiteral
    | StructLiteral
    | Commented
)

LOOPS = frozenset(
    (
        *("all", "exists", "exists_one", "existsOne", "map", "filter", "sortBy", "optMap"),
        *("optFlatMap", "transformList", "transformMap", "transformMapEntry", "bind"),
    )
)
"""Macros whose first arguments are the names of variables."""


def bare(expr: Expr) -> Expr:
    """Return the expression without the comments before it."""
    while isinstance(expr, Commented):
        expr = expr.expr
    return expr


def variables_of(call: Call) -> int:
    """Return how many of a call's first arguments are a macro's variables."""
    if call.target is None or call.function not in LOOPS:
        return 0
    most = 2 if len(call.args) > 2 and call.function not in ("map", "bind", "sortBy") else 1
    count = 0
    while count < min(most, len(call.args) - 1) and isinstance(bare(call.args[count]), Ident):
        count += 1
    return count


def chain(operator: str, terms: Sequence[Expr]) -> Expr:
    """Return terms joined by `&&` or `||`: one flat node wherever its text parses to this tree.

    The parser makes balanced trees of chains; a term that is a chain of the same operator keeps
    its parentheses where without them the tree would be another.
    """
    if len(terms) == 1:
        return terms[0]
    middle = (len(terms) - 1) // 2 + 1
    sides = [chain(operator, side) for side in (terms[:middle], terms[middle:])]
    left, right = (
        side.terms if isinstance(side, Chain) and side.operator == operator else (side,)
        for side in sides
    )
    if (len(left) + len(right) - 1) // 2 + 1 == len(left):
        return Chain(operator, left + right)
    return Chain(operator, tuple(sides))


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the parts of an expression, in the order of its text."""
    parts: list[Expr] = []

    def note(part: Expr) -> Expr:
        parts.append(part)
        return part

    transform(expr, note)
    return tuple(parts)


def count(expr: Expr, part: Expr) -> int:
    """The number of times that a part occurs in an expression, itself included."""
    return 1 if expr == part else sum(count(child, part) for child in children(expr))


def functions(expr: Expr) -> frozenset[str]:
    """Return the names of the functions that an expression calls."""
    own = [expr.function] if isinstance(expr, Call) else []
    return frozenset(own).union(*map(functions, children(expr)))


def replaced(expr: Expr, part: Expr, value: Expr) -> Expr:
    """Return the expression with another value wherever it has a part."""
    return value if expr == part else transform(expr, lambda child: replaced(child, part, value))


def transform(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return the expression with each of its parts changed, in the order of its text."""
    match expr:
        case Literal() | Ident():
            return expr
        case Select():
            return Select(change(expr.operand), expr.field, expr.optional)
        case Index():
            return Index(change(expr.operand), change(expr.key), expr.optional)
        case Call():
            target = None if expr.target is None else change(expr.target)
            return Call(expr.function, target, tuple(map(change, expr.args)))
        case Unary():
            return Unary(expr.operator, change(expr.operand))
        case Binary():
            return Binary(expr.operator, change(expr.left), change(expr.right))
        case Chain():
            return chain(expr.operator, tuple(map(change, expr.terms)))
        case Conditional():
            parts = (expr.condition, expr.then, expr.otherwise)
            return Conditional(*map(change, parts))
        case Commented():
            return Commented(change(expr.expr), expr.comments)
        case _:
            match expr:
                case ListLiteral():
                    return ListLiteral(tuple(map(change, expr.elements)), expr.optional_indices)
                case MapLiteral():
                    entries = (
                        MapEntry(change(e.key), change(e.value), e.optional) for e in expr.entries
                    )
                    return MapLiteral(tuple(entries))
                case StructLiteral():
                    fields = (FieldEntry(e.field, change(e.value), e.optional) for e in expr.fields)
                    return StructLiteral(expr.name, tuple(fields))


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", "\\": "\\"}


def is_field_name(name: str) -> bool:
    """Report whether a name can follow a dot; only four reserved words cannot."""
    return _NAME.fullmatch(name) is not None and name not in KEYWORDS


def field_name(name: str) -> str:
    """Return the text of a field behind a dot."""
    return name if is_field_name(name) else f"`{name}`"


def authored(value: Scalar) -> str:
    """Return a constant as an author writes it: in the quotes that need fewer escapes.

    Single quotes win a tie. A text with backslashes is raw where that says the same.
    """
    if isinstance(value, str):
        quote = '"' if value.count("'") > value.count('"') else "'"
        raw = "\\" in value and quote not in value and value.isprintable()
        return f"r{quote}{value}{quote}" if raw else _quoted(value, quote)
    if isinstance(value, bytes):
        quote = "'" if b"'" not in value else '"'
        octets = "".join(_octet(octet, quote) for octet in value)
        return f"b{quote}{octets}{quote}"
    return _plain(value)


def reference(value: Scalar) -> str:
    """Return a constant as cel-go writes it: in double quotes, each byte in octal."""
    if isinstance(value, str):
        return _quoted(value, '"')
    if isinstance(value, bytes):
        octets = "".join(f"\\{octet:03o}" for octet in value)
        return f'b"{octets}"'
    return _plain(value)


def _plain(value: float | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{int(value)}u" if isinstance(value, Uint) else repr(value)


def _quoted(text: str, quote: str) -> str:
    return f"{quote}{''.join(_escaped(char, quote) for char in text)}{quote}"


def _escaped(char: str, quote: str) -> str:
    if char == quote or char in _ESCAPES:
        return f"\\{_ESCAPES.get(char, char)}"
    code = ord(char)
    if char.isprintable() or 0xD800 <= code <= 0xDFFF:
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _octet(octet: int, quote: str) -> str:
    char = chr(octet)
    if char == quote or char in _ESCAPES:
        return f"\\{_ESCAPES.get(char, char)}"
    return char if 0x20 <= octet < 0x7F else f"\\x{octet:02x}"
