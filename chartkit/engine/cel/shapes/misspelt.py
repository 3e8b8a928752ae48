"""Expressions checked against the kinds that they speak of, as an API server does it.

To an expression `object` is of any type, so a misspelt field is found only when an object comes
by. Where the kind is known the expression is checked once more with `object` and `oldObject` of
that kind's type. What is found is told and refuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from chartkit.engine.cel.checker import UndefinedField, undefined_fields
from chartkit.engine.cel.declarations import Environment, Variable
from chartkit.engine.cel.interpreter.program import Program
from chartkit.engine.cel.shapes.table import shape_of
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.model import Diagnostic, Severity

RULE_ID: Final = "cel-types"

_OBJECTS: Final = ("object", "oldObject")


@dataclass(frozen=True, slots=True)
class KindIssues:
    """The fields that an expression names and one kind does not have."""

    kind: GroupVersionKind
    issues: tuple[UndefinedField, ...]

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


def misspelt(program: Program, kinds: Iterable[GroupVersionKind]) -> tuple[KindIssues, ...]:
    """The fields of `object` and `oldObject` that a kind does not have, for each of some kinds.

    Kinds that are not known are passed over.
    """
    if not any(name in program.source for name in _OBJECTS):
        return ()
    found = ((kind, _undefined(program, kind)) for kind in kinds)
    return tuple(KindIssues(kind, issues) for kind, issues in found if issues)


@lru_cache(maxsize=4096)
def _undefined(program: Program, kind: GroupVersionKind) -> tuple[UndefinedField, ...]:
    """Return the fields that the program's own environment does not check."""
    environment = _typed(program.environment, kind)
    return () if environment is None else undefined_fields(program.checked.parsed, environment)


@lru_cache(maxsize=512)
def _typed(environment: Environment, kind: GroupVersionKind) -> Environment | None:
    """The environment with `object` and `oldObject`, where it has them, of the kind's type; None
    for a kind that is not known."""
    shape = shape_of(kind)
    if shape is None:
        return None
    variables = {name: Variable(shape.type) for name in _OBJECTS if name in environment.variables}
    return environment.extend(variables, structs=shape.structs)


def _hint(issue: UndefinedField) -> str | None:
    if issue.suggestion is None:
        return None
    return f"did you mean '{issue.suggestion}'?"


def _text(kind: GroupVersionKind) -> str:
    """The kind as Go prints it."""
    return f"{kind.group}/{kind.version}, Kind={kind.kind}"
