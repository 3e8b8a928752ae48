"""The type checker: what an expression's names mean, and whether its types fit together.

Its rules, its messages and their order are those of cel-go's checker and of the validators that
Kubernetes' environments add to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cel.ast import Parsed
from chartkit.engine.cel.checker.checked import Checked, OutputTypeError, UndefinedField
from chartkit.engine.cel.checker.overloads import tables_of
from chartkit.engine.cel.checker.unification import TypeTooLargeError, is_same
from chartkit.engine.cel.checker.validators import WATCHED, validate_calls, validate_literals
from chartkit.engine.cel.checker.visitor import Visitor
from chartkit.engine.cel.declarations import Environment
from chartkit.engine.cel.errors import CelCompileError, Issue
from chartkit.engine.cel.parser.parser import TooDeepError
from chartkit.engine.cel.types import ANY, Type, TypeKind

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
