"""Literals that can never be right, found after the types were checked.

`duration('1x')`, `timestamp('x')` and `s.matches('[')` are judged by what the functions
themselves make of the literal; list and map literals may have to have members of one type; the
format strings of `'…'.format([…])` are read against the types of the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chartkit.engine.cel.ast import Call, Expr, ListLiteral, Literal, MapLiteral
from chartkit.engine.cel.checker.checked import Checked
from chartkit.engine.cel.checker.format_strings import check_format
from chartkit.engine.cel.checker.formatting import format_type
from chartkit.engine.cel.checker.unification import is_same
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelError, CostLimitExceeded, Issue
from chartkit.engine.cel.library.searching import Patterns
from chartkit.engine.cel.types import Type
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
    found = next((each for each in overloads if each.parameters[0].kind is kind), None)
    if found is None:
        # `null` may stand for a timestamp, but no function takes it.
        return False
    try:
        found.implementation(literal.value)
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
        if isinstance(literal, ListLiteral):
            elements = [
                (each, _type(checked, each, position in literal.optional_indices))
                for position, each in enumerate(literal.elements)
            ]
            # In a list, only the first element that differs is named.
            yield from list(_differing(elements))[:1]
        else:
            entries = literal.entries
            yield from _differing([(each.key, _type(checked, each.key, False)) for each in entries])
            yield from _differing(
                [(each.value, _type(checked, each.value, each.optional)) for each in entries]
            )


def _type(checked: Checked, expr: Expr, optional: bool) -> Type:
    found = checked.types[expr.id]
    return found.parameters[0] if optional and found.parameters else found


def _differing(members: Sequence[tuple[Expr, Type]]) -> Iterator[Issue]:
    for expr, found in members[1:]:
        expected = members[0][1]
        if found is not expected and not is_same(expected, found):
            yield Issue(
                f"expected type '{format_type(expected)}' but found '{format_type(found)}'",
                expr.offset,
            )
