"""`'%s is %d'.format([a, b])` with a literal text and list: are the clauses right for the types?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chartkit.engine.cel.ast import Expr, ListLiteral, MapLiteral
from chartkit.engine.cel.checker.formatting import type_name
from chartkit.engine.cel.errors import Issue
from chartkit.engine.cel.types import Type, TypeKind

_STRING_KINDS = frozenset(
    {
        TypeKind.DYN,
        TypeKind.LIST,
        TypeKind.MAP,
        TypeKind.INT,
        TypeKind.UINT,
        TypeKind.DOUBLE,
        TypeKind.BOOL,
        TypeKind.STRING,
        TypeKind.TIMESTAMP,
        TypeKind.BYTES,
        TypeKind.DURATION,
        TypeKind.TYPE,
        TypeKind.NULL,
    }
)
_INTEGERS = frozenset({TypeKind.DYN, TypeKind.INT, TypeKind.UINT})
_FLOATS = frozenset({TypeKind.DYN, TypeKind.DOUBLE, TypeKind.STRING})
_HEX = _INTEGERS | {TypeKind.STRING, TypeKind.BYTES}
_HEX_WORDS = "only integers, byte buffers, and strings can be formatted as hex"
_CLAUSES = {
    "s": (
        _STRING_KINDS,
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
    ),
    "d": (_INTEGERS, "decimal clause can only be used on integers"),
    "f": (_FLOATS, "fixed-point clause can only be used on doubles"),
    "e": (_FLOATS, "scientific clause can only be used on doubles"),
    "b": (_INTEGERS | {TypeKind.BOOL}, "only integers and bools can be formatted as binary"),
    "x": (_HEX, _HEX_WORDS),
    "X": (_HEX, _HEX_WORDS),
    "o": (_INTEGERS, "octal clause can only be used on integers"),
}
_INT_MAX = 2**63 - 1


class _FormatError(Exception):
    """A format string that cannot be right; expr: the argument at fault, if it is one's fault."""

    def __init__(self, message: str, expr: Expr | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.expr = expr


def check_format(
    template: str, arguments: Sequence[Expr], types: Mapping[int, Type], offset: int
) -> Issue | None:
    """Return the first fault of a format string; offset: of the call."""
    try:
        used = _read(template, arguments, types)
    except _FormatError as error:
        return Issue(error.message, offset if error.expr is None else error.expr.offset)
    if len(arguments) > used:
        return Issue(
            f"too many arguments supplied to string.format (expected {used}, got {len(arguments)})",
            offset,
        )
    return None


def _read(template: str, arguments: Sequence[Expr], types: Mapping[int, Type]) -> int:
    """Return the number of arguments that the text needs."""
    # Clauses are read byte by byte, which shows in the message about one that is not ASCII.
    text = template.encode("utf-8", "surrogatepass").decode("latin-1")
    position, used = 0, 0
    while (position := text.find("%", position)) >= 0:
        if text.startswith("%%", position):
            position += 2
            continue
        if position + 1 >= len(text):
            raise _FormatError("unexpected end of string")
        if used >= len(arguments):
            raise _FormatError(f"index {used} out of range")
        position = _after_precision(text, position + 1)
        _check_clause(text[position], arguments[used], types)
        position += 1
        used += 1
    return used


def _after_precision(text: str, position: int) -> int:
    if text[position] != ".":
        return position
    start = position = position + 1
    while position < len(text) and text[position] in "0123456789":
        position += 1
    reading = "could not parse formatting clause: error while parsing precision: "
    if position == len(text):
        raise _FormatError(f"{reading}could not find end of precision specifier")
    digits = text[start:position]
    converting = f'{reading}error while converting precision to integer: strconv.Atoi: parsing "'
    if not digits:
        raise _FormatError(f'{converting}": invalid syntax')
    if len(digits.lstrip("0")) > len(str(_INT_MAX)) or int(digits) > _INT_MAX:
        raise _FormatError(f'{converting}{digits}": value out of range')
    return position


def _check_clause(clause: str, argument: Expr, types: Mapping[int, Type]) -> None:
    if clause not in _CLAUSES:
        raise _FormatError(
            f'could not parse formatting clause: unrecognized formatting clause "{clause}"'
        )
    kinds, words = _CLAUSES[clause]
    wrong = _unprintable(argument, types) if clause == "s" else argument
    if wrong is None:
        return
    found = types[wrong.id]
    kind = found.parameters[0].kind if found.kind is TypeKind.WRAPPER else found.kind
    if kind not in kinds:
        raise _FormatError(f"error during formatting: {words}, was given {type_name(found)}", wrong)


def _unprintable(expr: Expr, types: Mapping[int, Type]) -> Expr | None:
    """The part of an argument that has no text, looking into literals; None for none."""
    pending = [expr]
    while pending:
        each = pending.pop()
        found = types[each.id]
        if found.kind is not TypeKind.WRAPPER and found.kind not in _STRING_KINDS:
            return each
        if isinstance(each, ListLiteral):
            pending.extend(reversed(each.elements))
        elif isinstance(each, MapLiteral):
            for entry in reversed(each.entries):
                pending += (entry.value, entry.key)
    return None
