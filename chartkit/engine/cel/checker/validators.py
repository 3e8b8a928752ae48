"""Literals that can never be right, found after the types were checked.

`duration('1x')`, `timestamp('x')` and `s.matches('[')` are judged by what the functions
themselves make of the literal; list and map literals may have to have members of one type; the
format strings of `'…'.format([…])` are read against the types of the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.engine.cel.ast import Call, Expr, ListLiteral, Literal, MapLiteral
from chartkit.engine.cel.checker.checked import Checked, format_type, type_name
from chartkit.engine.cel.checker.unification import is_same
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelError, CostLimitExceeded, Issue
from chartkit.engine.cel.library.searching import Patterns
from chartkit.engine.cel.types import Type, TypeKind
from chartkit.go.regexp import RegexError

_EVALUATED = ("duration", "timestamp")
_MATCHES = "matches"
_FORMAT = "format"
WATCHED = frozenset({*_EVALUATED, _MATCHES, _FORMAT})
"""The functions whose calls `validate_calls` judges."""


def validate_calls(
    checked: Checked, environment: Environment, calls: Sequence[Call]
) -> Iterator[Issue]:
    """Complains about literal arguments that have no value.

    Format strings are read in every environment, the others where its options ask for it.
    """
    patterns = Patterns()
    for call in calls:
        if call.function == _FORMAT:
            yield from _format_issues(checked, call)
        elif environment.options.validate and not _is_valid(checked, environment, call, patterns):
            yield Issue(f"invalid {call.function} argument", call.args[0].offset)


def _is_valid(checked: Checked, environment: Environment, call: Call, patterns: Patterns) -> bool:
    literal = call.args[0] if call.args else None
    if not isinstance(literal, Literal):
        return True
    if call.function == _MATCHES:
        # The first argument, which in `matches(text, pattern)` is the text: so does cel-go.
        return not isinstance(literal.value, str) or _is_regex(literal.value, patterns)
    kind = checked.types[literal.id].kind
    overloads = environment.functions[call.function].overloads
    overload = next((each for each in overloads if each.parameters[0].kind is kind), None)
    if overload is None:
        # `null` may stand for a timestamp, but no function takes it.
        return False
    try:
        overload.implementation(literal.value)
    except CelError:
        return False
    return True


def _is_regex(pattern: str, patterns: Patterns) -> bool:
    try:
        patterns.read(pattern)
    except (RegexError, CostLimitExceeded):
        return False
    return True


def _format_issues(checked: Checked, call: Call) -> Iterator[Issue]:
    template, arguments = call.target, call.args[0]
    if (
        "string_format" in checked.overloads[call.id]
        and isinstance(template, Literal)
        and isinstance(template.value, str)
        and isinstance(arguments, ListLiteral)
    ):
        issue = check_format(template.value, arguments.elements, checked.types, call.offset)
        if issue is not None:
            yield issue


def validate_literals(
    checked: Checked, literals: Sequence[ListLiteral | MapLiteral]
) -> Iterator[Issue]:
    """Complains about list and map literals whose members differ in their types."""
    for literal in literals:
        breaking = _optional_dynamic(checked, literal)
        if breaking is not None:
            yield Issue(
                "an optional member of type dyn, at which cel-go breaks off", breaking.offset
            )
        elif isinstance(literal, ListLiteral):
            elements = [
                (element, _type(checked, element, position in literal.optional_indices))
                for position, element in enumerate(literal.elements)
            ]
            # In a list, only the first element that differs is named.
            yield from list(_differing(elements))[:1]
        else:
            entries = literal.entries
            yield from _differing([(each.key, _type(checked, each.key, False)) for each in entries])
            yield from _differing(
                [(entry.value, _type(checked, entry.value, entry.optional)) for entry in entries]
            )


_BREAKS: Final = "an optional member of type dyn, at which cel-go breaks off"


def _optional_dynamic(checked: Checked, literal: ListLiteral | MapLiteral) -> Expr | None:
    """Return the first optional member whose type is not known to be an optional's: cel-go takes
    the first parameter of a type that has none (`homogeneousAggregateLiteralValidator`)."""
    if isinstance(literal, ListLiteral):
        optional = [literal.elements[position] for position in sorted(literal.optional_indices)]
    else:
        optional = [entry.value for entry in literal.entries if entry.optional]
    return next((each for each in optional if not checked.types[each.id].parameters), None)


def _type(checked: Checked, expr: Expr, optional: bool) -> Type:
    found = checked.types[expr.id]
    return found.parameters[0] if optional else found


def _differing(members: Sequence[tuple[Expr, Type]]) -> Iterator[Issue]:
    for expr, found in members[1:]:
        expected = members[0][1]
        if found is not expected and not is_same(expected, found):
            yield Issue(
                f"expected type '{format_type(expected)}' but found '{format_type(found)}'",
                expr.offset,
            )


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
