"""The type checker: what an expression's names mean, and whether its types fit together.

Its rules, its messages and their order are those of cel-go's checker and of the validators that
Kubernetes' environments add to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.engine.cel.ast import Call, Expr, ListLiteral, Literal, MapLiteral, Parsed
from chartkit.engine.cel.checker.checked import (
    Checked,
    OutputTypeError,
    UndefinedField,
    format_type,
    type_name,
)
from chartkit.engine.cel.checker.overloads import tables_of
from chartkit.engine.cel.checker.unification import TypeTooLargeError, is_same
from chartkit.engine.cel.checker.visitor import Visitor
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, CelError, CostLimitExceeded, Issue
from chartkit.engine.cel.library.extensions.formatting import (
    ONLY,
    UnfinishedClauseError,
    split_format,
)
from chartkit.engine.cel.library.searching import Patterns
from chartkit.engine.cel.parser.parser import TooDeepError
from chartkit.engine.cel.types import ANY, Type, TypeKind
from chartkit.go.regexp import RegexError

_EVALUATED = ("duration", "timestamp")
_MATCHES = "matches"
_FORMAT = "format"
WATCHED = frozenset({*_EVALUATED, _MATCHES, _FORMAT})
"""The functions whose calls `validate_calls` judges."""


def validate_calls(
    checked: Checked, environment: Environment, calls: Sequence[Call]
) -> Iterator[Issue]:
    """Complain about literal arguments that have no value.

    Format strings are read in every environment, the others where its options ask for it.
    """
    patterns = Patterns()
    for call in calls:
        if call.function == _FORMAT:
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
        elif environment.options.validate and not _is_valid(checked, environment, call, patterns):
            yield Issue(f"invalid {call.function} argument", call.args[0].offset)


def _is_valid(checked: Checked, environment: Environment, call: Call, patterns: Patterns) -> bool:
    literal = call.args[0] if call.args else None
    if not isinstance(literal, Literal):
        return True
    if call.function == _MATCHES:
        # The first argument, which in `matches(text, pattern)` is the text: so does cel-go.
        if not isinstance(literal.value, str):
            return True
        try:
            patterns.read(literal.value)
        except (RegexError, CostLimitExceeded):
            return False
        return True
    kind = checked.types[literal.id].kind
    overloads = environment.functions[call.function].overloads
    overload = next((item for item in overloads if item.parameters[0].kind is kind), None)
    if overload is None:
        # `null` may stand for a timestamp, but no function takes it.
        return False
    try:
        overload.implementation(literal.value)
    except CelError:
        return False
    return True


def validate_literals(
    checked: Checked, literals: Sequence[ListLiteral | MapLiteral]
) -> Iterator[Issue]:
    """Complain about list and map literals with members of different types."""
    for literal in literals:
        # The first optional member whose type is not known to be an optional's: cel-go takes the
        # first parameter of a type that has none (`homogeneousAggregateLiteralValidator`).
        if isinstance(literal, ListLiteral):
            optional = [literal.elements[position] for position in sorted(literal.optional_indices)]
        else:
            optional = [entry.value for entry in literal.entries if entry.optional]
        breaking = next(
            (member for member in optional if not checked.types[member.id].parameters), None
        )
        if breaking is not None:
            yield Issue(_BREAKS, breaking.offset)
        elif isinstance(literal, ListLiteral):
            elements = [
                (element, _type(checked, element, position in literal.optional_indices))
                for position, element in enumerate(literal.elements)
            ]
            # In a list, only the first element that differs is named.
            yield from list(_differing(elements))[:1]
        else:
            entries = literal.entries
            yield from _differing([(item.key, _type(checked, item.key, False)) for item in entries])
            yield from _differing(
                [(entry.value, _type(checked, entry.value, entry.optional)) for entry in entries]
            )


_BREAKS: Final = "an optional member of type dyn, at which cel-go breaks off"


def _type(checked: Checked, expr: Expr, optional: bool) -> Type:
    type_ = checked.types[expr.id]
    return type_.parameters[0] if optional else type_


def _differing(members: Sequence[tuple[Expr, Type]]) -> Iterator[Issue]:
    for expr, actual in members[1:]:
        expected = members[0][1]
        if actual is not expected and not is_same(expected, actual):
            yield Issue(
                f"expected type '{format_type(expected)}' but found '{format_type(actual)}'",
                expr.offset,
            )


_STRING_KINDS = frozenset(TypeKind) - {
    *(TypeKind.ANY, TypeKind.ERROR, TypeKind.OPAQUE, TypeKind.STRUCT, TypeKind.WRAPPER),
    TypeKind.PARAMETER,
}
_INTEGERS = frozenset({TypeKind.DYN, TypeKind.INT, TypeKind.UINT})
_FLOATS = frozenset({TypeKind.DYN, TypeKind.DOUBLE, TypeKind.STRING})
_HEX = _INTEGERS | {TypeKind.STRING, TypeKind.BYTES}
_KINDS: Final = {
    "s": _STRING_KINDS,
    "d": _INTEGERS,
    "f": _FLOATS,
    "e": _FLOATS,
    "b": _INTEGERS | {TypeKind.BOOL},
    "x": _HEX,
    "X": _HEX,
    "o": _INTEGERS,
}
"""The types that a clause of a format string takes."""


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
        used = 0
        for part in split_format(template):
            if isinstance(part, str):
                continue
            if isinstance(part, UnfinishedClauseError):
                raise _FormatError(part.message)
            if used >= len(arguments):
                raise _FormatError(f"index {used} out of range")
            if isinstance(part, CelError):
                raise _FormatError(part.message)
            argument = arguments[used]
            wrong = _unprintable(argument, types) if part.kind == "s" else argument
            if wrong is not None:
                given = types[wrong.id]
                kind = given.parameters[0].kind if given.kind is TypeKind.WRAPPER else given.kind
                if kind not in _KINDS[part.kind]:
                    text = (
                        f"error during formatting: {ONLY[part.kind]}, was given {type_name(given)}"
                    )
                    raise _FormatError(text, wrong)
            used += 1
    except _FormatError as error:
        return Issue(error.message, offset if error.expr is None else error.expr.offset)
    if len(arguments) > used:
        return Issue(
            f"too many arguments supplied to string.format (expected {used}, got {len(arguments)})",
            offset,
        )
    return None


def _unprintable(expr: Expr, types: Mapping[int, Type]) -> Expr | None:
    """The part of an argument, or of a literal in it, that has no text; None if all have one."""
    pending = [expr]
    while pending:
        part = pending.pop()
        type_ = types[part.id]
        if type_.kind is not TypeKind.WRAPPER and type_.kind not in _STRING_KINDS:
            return part
        if isinstance(part, ListLiteral):
            pending.extend(reversed(part.elements))
        elif isinstance(part, MapLiteral):
            for entry in reversed(part.entries):
                pending += (entry.value, entry.key)
    return None


__all__ = ["Checked", "OutputTypeError", "UndefinedField", "check", "undefined_fields"]

_REPORTED_ISSUES = 100


def check(parsed: Parsed, environment: Environment, *, expected: tuple[Type, ...] = ()) -> Checked:
    """The expression with its types.

    expected: the types that its value may have; empty for any. Raises `CelCompileError` with
    every complaint, and `OutputTypeError` where the expression is right but of another type.
    """
    visitor = _visited(parsed, environment)
    _raise(parsed, visitor.issues)
    checked = Checked(parsed, visitor.types, visitor.overloads, visitor.names)
    if environment.options.homogeneous and visitor.literals:
        visitor.issues += validate_literals(checked, visitor.literals)
    if visitor.calls:
        visitor.issues += validate_calls(checked, environment, visitor.calls)
    _raise(parsed, visitor.issues)
    if expected:
        actual = checked.output_type
        if not any(wanted == ANY or is_same(wanted, actual) for wanted in expected):
            raise OutputTypeError(checked.source, expected, actual)
    return checked


def undefined_fields(parsed: Parsed, environment: Environment) -> tuple[UndefinedField, ...]:
    """The fields that their types do not have, whatever else may be wrong with the expression."""
    issues = _visited(parsed, environment).issues
    return tuple(issue for issue in issues if isinstance(issue, UndefinedField))


def _visited(parsed: Parsed, environment: Environment) -> Visitor:
    visitor = Visitor(tables_of(environment), WATCHED)
    try:
        visitor.visit(parsed.root)
        if visitor.variables.open:
            close = visitor.variables.close
            for node, type_ in visitor.types.items():
                if type_.parameters or type_.kind is TypeKind.PARAMETER:
                    visitor.types[node] = close(type_)
    except TypeTooLargeError:
        raise CelCompileError(parsed.source, [Issue("a type has too many parts")]) from None
    except RecursionError:
        # What macros make of an expression nests deeper than what its author wrote.
        deep = f"ERROR: <input>:-1:0: {TooDeepError()}"
        raise CelCompileError(parsed.source, [Issue(deep)]) from None
    return visitor


def _raise(parsed: Parsed, issues: Sequence[Issue]) -> None:
    """Raise the complaints in the order of their places, up to a limit."""
    if not issues:
        return
    shown = sorted(issues[:_REPORTED_ISSUES], key=lambda issue: issue.offset or 0)
    if len(issues) > len(shown):
        shown.append(Issue(f"{len(issues) - len(shown)} more errors were truncated"))
    raise CelCompileError(parsed.source, shown)
