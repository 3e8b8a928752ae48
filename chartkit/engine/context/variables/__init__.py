"""Policy values with variables (`{{ }}`) and references (`$( )`), compiled once and resolved for
every request. What most values need is here: to see that there is nothing to resolve."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from chartkit.errors import EvaluationError, raising
from chartkit.model import Json

if TYPE_CHECKING:
    from chartkit.engine.context.context import Context

    Resolve = Callable[[Context], Json]

# A variable at the start of a text, or after any character but a backslash; one level of plain
# braces may be inside, so a nested variable is found before the one around it.
VARIABLE = re.compile(r"(^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*\}\})")
OPEN = "{{"


class SubstitutionError(EvaluationError):
    """A variable or reference that could not be substituted; the text is Kyverno's."""


class UnresolvedReferenceError(EvaluationError):
    """A reference that names nothing, or not a text; the text is Kyverno's."""


class Template:
    """A JSON value of a policy, ready to be resolved in a context."""

    __slots__ = ("_resolve", "is_constant", "value")

    def __init__(self, value: Json, resolve: Resolve | None) -> None:
        """value: the result if there is nothing to resolve."""
        self.value = value
        self._resolve = resolve
        self.is_constant = resolve is None

    def resolve(self, context: Context) -> Json:
        """The value with its variables substituted; a constant is returned uncopied.

        Raises `SubstitutionError`.
        """
        return self.value if self._resolve is None else self._resolve(context)


def compile_template(value: Json, path: str = "") -> Template:
    """Return a template of a JSON value. Never raises: faults are raised on `resolve`.

    path: the place of the value in the document it is substituted with, as errors and the
    variable `{{ @ }}` show it (`/spec/containers/0`; empty for the document itself).
    """
    if not may_vary(value):
        return Template(value, None)
    from chartkit.engine.context.variables.syntax import resolve_references
    from chartkit.engine.context.variables.template import template_of

    try:
        value = resolve_references(value)
    except UnresolvedReferenceError as error:
        return Template(value, raising(SubstitutionError, error.message))
    return template_of(value, path)


def may_vary(value: Json) -> bool:
    """Report whether a value holds a text that may be a reference or a variable."""
    return any_text(value, lambda text: OPEN in text or has_reference(text))


def has_variable(text: str) -> bool:
    """Report whether a text holds a variable that is not escaped."""
    return OPEN in text and VARIABLE.search(text) is not None


def has_reference(text: str) -> bool:
    """Report whether a text may hold a reference, escaped or not."""
    return "$(" in text


def has_references(value: Json) -> bool:
    """Report whether a value holds a text that may be a reference."""
    return any_text(value, has_reference)


def any_text(value: Json, holds: Callable[[str], bool]) -> bool:
    """Report whether something holds for a text in a value, or for a key."""
    if isinstance(value, str):
        return holds(value)
    if isinstance(value, dict):
        return any(holds(key) or any_text(member, holds) for key, member in value.items())
    return isinstance(value, list) and any(any_text(member, holds) for member in value)
