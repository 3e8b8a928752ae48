"""Expressions checked against the kinds that they speak of, as an API server does it.

To an expression `object` is of any type, so a misspelt field is found only when an object comes
by. Where the kind is known the expression is checked once more with `object` and `oldObject` of
that kind's type. What is found is told and refuses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cel.ast import Parsed
from chartkit.engine.cel.checker import UndefinedField, check, undefined_fields
from chartkit.engine.cel.declarations import Environment, Variable
from chartkit.engine.cel.errors import CelCompileError, Issue, describe
from chartkit.engine.cel.parser import parse
from chartkit.engine.cel.shapes.table import Shape, shape_of
from chartkit.engine.kinds import GroupVersionKind
from chartkit.model import Diagnostic, Severity

RULE_ID: Final = "cel-types"

_OBJECTS: Final = ("object", "oldObject")

_Finder = Callable[[Parsed, Environment], Sequence[Issue]]


@dataclass(frozen=True, slots=True)
class KindIssues:
    """What is wrong with an expression where it is about one kind."""

    kind: GroupVersionKind
    source: str
    issues: tuple[Issue, ...]

    def __str__(self) -> str:
        """The text that an API server puts into the status of a policy."""
        described = "\n".join(describe(self.source, issue) for issue in self.issues)
        return f"{_text(self.kind)}: {described}\n"

    def diagnostics(self) -> list[Diagnostic]:
        """One warning an issue, with the field that was perhaps meant as its hint."""
        return [
            Diagnostic(
                RULE_ID,
                Severity.WARNING,
                f"{_text(self.kind)}: {issue.message}",
                hint=_hint(issue),
            )
            for issue in self.issues
        ]


def misspelt(
    source: str, environment: Environment, kinds: Iterable[GroupVersionKind]
) -> tuple[KindIssues, ...]:
    """The fields of `object` and `oldObject` that a kind does not have, for each of some kinds.

    Kinds that are not known are passed over. Raises `CelCompileError` where the expression does
    not parse.
    """
    parsed = parse(source, environment)
    return _for_each(parsed, environment, kinds, undefined_fields)


def type_warnings(
    source: str, environment: Environment, kinds: Iterable[GroupVersionKind]
) -> tuple[KindIssues, ...]:
    """All that an API server warns of, for each of some kinds: more than what goes wrong.

    An expression that treats an object as a map, or adds lists of different types, has a value
    when it runs. Kinds that are not known are passed over. Raises `CelCompileError` where the
    expression does not parse.
    """
    parsed = parse(source, environment)
    return _for_each(parsed, environment, kinds, _issues)


def _for_each(
    parsed: Parsed, environment: Environment, kinds: Iterable[GroupVersionKind], find: _Finder
) -> tuple[KindIssues, ...]:
    """What is found for each kind, and not by the environment alone."""
    known = set(find(parsed, environment))
    found = []
    for kind in kinds:
        shape = shape_of(kind)
        if shape is not None:
            issues = find(parsed, _typed(environment, shape))
            more = tuple(issue for issue in issues if issue not in known)
            if more:
                found.append(KindIssues(kind, parsed.source, more))
    return tuple(found)


def _typed(environment: Environment, shape: Shape) -> Environment:
    """The environment with `object` and `oldObject`, where it has them, of the kind's type."""
    variables = {name: Variable(shape.type) for name in _OBJECTS if name in environment.variables}
    return environment.extend(variables, structs=shape.structs)


def _issues(parsed: Parsed, environment: Environment) -> tuple[Issue, ...]:
    try:
        check(parsed, environment)
    except CelCompileError as error:
        return error.issues
    return ()


def _hint(issue: Issue) -> str | None:
    if not isinstance(issue, UndefinedField) or issue.suggestion is None:
        return None
    return f"did you mean '{issue.suggestion}'?"


def _text(kind: GroupVersionKind) -> str:
    """The kind as Go prints it."""
    return f"{kind.group}/{kind.version}, Kind={kind.kind}"
