"""From a tree back to the text of a CEL expression, its macros as they were written.

The text parses to the same tree. Its spaces and quotes are cel-go's; parentheses stand only where
they are needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType

from chartkit.engine.cel.ast import (
    Call,
    Comprehension,
    Expr,
    FieldEntry,
    Ident,
    ListLiteral,
    Literal,
    MacroCall,
    MapEntry,
    MapLiteral,
    Select,
    StructLiteral,
)
from chartkit.engine.cel.parser.lexer import KEYWORDS
from chartkit.engine.cel.values import Scalar, Uint

_NO_MACROS: Mapping[int, MacroCall] = MappingProxyType({})


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


_BINARY = {
    "_||_": ("||", _Level.OR),
    "_&&_": ("&&", _Level.AND),
    **{f"_{s}_": (s, _Level.RELATION) for s in ("==", "!=", "<", "<=", ">", ">=")},
    "@in": ("in", _Level.RELATION),
    **{f"_{s}_": (s, _Level.SUM) for s in "+-"},
    **{f"_{s}_": (s, _Level.PRODUCT) for s in "*/%"},
}
_UNARY = {"!_": "!", "-_": "-"}
_INDICES = {"_[_]": "[", "_[?_]": "[?"}
_BALANCED = frozenset({"_||_", "_&&_"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"} | {
    sign: sign for sign in '\\"'
}


def unparse(expr: Expr, macro_calls: Mapping[int, MacroCall] = _NO_MACROS) -> str:
    """The text of an expression; macro_calls: of `Parsed`, for macros to stand as written.

    A comprehension that is none of these macros is shown as `fold(…)`, which is no CEL.
    """
    return _Writer(macro_calls).text(expr, _Level.CONDITIONAL)


def literal(value: Scalar) -> str:
    """A scalar as a literal of CEL."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, bytes):
        octets = "".join(f"\\{octet:03o}" for octet in value)
        return f'b"{octets}"'
    if isinstance(value, Uint):
        return f"{int(value)}u"
    return repr(value)


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return f"\\{_ESCAPES[char]}"
    code = ord(char)
    if char.isprintable() or 0xD800 <= code <= 0xDFFF:
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _field(name: str) -> str:
    return name if _NAME.fullmatch(name) and name not in KEYWORDS else f"`{name}`"


class _Writer:
    def __init__(self, macro_calls: Mapping[int, MacroCall]) -> None:
        self._macro_calls = macro_calls

    def text(self, expr: Expr, least: _Level) -> str:
        """The text of an expression, in parentheses where it holds less than `least`."""
        level, text = self._written(expr)
        return text if level >= least else f"({text})"

    def _written(self, expr: Expr) -> tuple[_Level, str]:
        macro = self._macro_calls.get(expr.id)
        if macro is not None:
            return _Level.MEMBER, self._call(macro.function, macro.target, macro.args)
        match expr:
            case Call():
                return self._operation(expr)
            case Literal():
                return _Level.MEMBER, literal(expr.value)
            case Ident():
                return _Level.MEMBER, expr.name
            case Select():
                text = f"{self.text(expr.operand, _Level.MEMBER)}.{_field(expr.field)}"
                return _Level.MEMBER, f"has({text})" if expr.test_only else text
            case ListLiteral():
                return _Level.MEMBER, self._list(expr)
            case MapLiteral():
                return _Level.MEMBER, f"{{{', '.join(map(self._entry, expr.entries))}}}"
            case StructLiteral():
                fields = ", ".join(map(self._field_entry, expr.fields))
                return _Level.MEMBER, f"{expr.name}{{{fields}}}"
            case Comprehension():
                return _Level.MEMBER, self._fold(expr)

    def _list(self, expr: ListLiteral) -> str:
        texts = (
            f"{'?' if index in expr.optional_indices else ''}{self._any(element)}"
            for index, element in enumerate(expr.elements)
        )
        return f"[{', '.join(texts)}]"

    def _any(self, expr: Expr) -> str:
        return self.text(expr, _Level.CONDITIONAL)

    def _entry(self, entry: MapEntry) -> str:
        mark = "?" if entry.optional else ""
        return f"{mark}{self._any(entry.key)}: {self._any(entry.value)}"

    def _field_entry(self, entry: FieldEntry) -> str:
        mark = "?" if entry.optional else ""
        return f"{mark}{_field(entry.field)}: {self._any(entry.value)}"

    def _fold(self, expr: Comprehension) -> str:
        variables = [expr.iter_var, *([expr.iter_var2] if expr.iter_var2 else [])]
        parts = (expr.accu_init, expr.loop_condition, expr.loop_step, expr.result)
        head = [self._any(expr.iter_range), *variables, expr.accu_var]
        return f"fold({', '.join([*head, *map(self._any, parts)])})"

    def _call(self, function: str, target: Expr | None, args: Sequence[Expr]) -> str:
        receiver = "" if target is None else f"{self.text(target, _Level.MEMBER)}."
        return f"{receiver}{function}({', '.join(map(self._any, args))})"

    def _operation(self, call: Call) -> tuple[_Level, str]:
        function, args = call.function, call.args
        if function in _BINARY:
            return self._binary(call)
        if function in _UNARY:
            return _Level.UNARY, self._unary(_UNARY[function], args[0])
        if function == "_?_:_":
            condition, then = (self.text(arg, _Level.OR) for arg in args[:2])
            return _Level.CONDITIONAL, f"{condition} ? {then} : {self._any(args[2])}"
        if function in _INDICES:
            operand = self.text(args[0], _Level.MEMBER)
            return _Level.MEMBER, f"{operand}{_INDICES[function]}{self._any(args[1])}]"
        if function == "_?._":
            name = args[1]
            field = _field(str(name.value)) if isinstance(name, Literal) else self._any(name)
            return _Level.MEMBER, f"{self.text(args[0], _Level.MEMBER)}.?{field}"
        return _Level.MEMBER, self._call(function, call.target, args)

    def _unary(self, sign: str, operand: Expr) -> str:
        text = self.text(operand, _Level.MEMBER)
        # A sign before a number is the number's own.
        if sign == "-" and (text[0] == "-" or text[0].isdigit()):
            return f"-({text})"
        return f"{sign}{text}"

    def _binary(self, call: Call) -> tuple[_Level, str]:
        sign, level = _BINARY[call.function]
        closer = _Level(level + 1)
        if call.function in _BALANCED:
            terms = self._terms(call, call.function)
            if not self._is_balanced(call, call.function, len(terms)):
                terms = list(call.args)
            return level, f" {sign} ".join(self.text(term, closer) for term in terms)
        left, right = call.args
        return level, f"{self.text(left, level)} {sign} {self.text(right, closer)}"

    def _terms(self, expr: Expr, function: str) -> list[Expr]:
        """The terms of a chain of one logical operator."""
        terms: list[Expr] = []
        rest = [expr]
        while rest:
            each = rest.pop()
            if self._is_chain(each, function) and isinstance(each, Call):
                rest.extend(reversed(each.args))
            else:
                terms.append(each)
        return terms

    def _is_chain(self, expr: Expr, function: str) -> bool:
        return (
            isinstance(expr, Call)
            and expr.function == function
            and expr.id not in self._macro_calls
        )

    def _is_balanced(self, expr: Expr, function: str, terms: int) -> bool:
        """Return whether a chain of so many terms is the tree that the parser makes of them."""
        if terms == 1:
            return not self._is_chain(expr, function)
        if not (self._is_chain(expr, function) and isinstance(expr, Call)):
            return False
        left = (terms - 1) // 2 + 1
        return self._is_balanced(expr.args[0], function, left) and self._is_balanced(
            expr.args[1], function, terms - left
        )
