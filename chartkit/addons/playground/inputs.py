"""The texts of the page's editors, read once each, and problems with them as the page shows them.

The name of an input stands in locations where a file does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from chartkit.documents.reader import Document, read_text, resources
from chartkit.errors import ChartkitError, CompileError, InputError
from chartkit.model import Body, Diagnostic, Location, Resource, Severity

MOST_CHARACTERS: Final = 2_000_000
"""The characters of an input that are read: some 10,000 objects."""
_KEPT: Final = 16
_Value = TypeVar("_Value")


class Problems:
    """Problems of the inputs of a call, and notes on them."""

    def __init__(self, name: str) -> None:
        """name: of the input that problems without a location are about."""
        self._name = name
        self.found: list[Body] = []

    def add(
        self, message: str, location: Location | None, hint: str | None = "", level: str = "error"
    ) -> None:
        """Add a problem, unless it is there."""
        problem = {
            "input": location.file if location else self._name,
            "line": location.line if location else 0,
            "column": location.column if location else 0,
            "message": message,
            "hint": hint or "",
            "level": level,
        }
        if problem not in self.found:
            self.found.append(problem)

    def add_error(self, error: ChartkitError) -> None:
        """Add an error, of a policy all that is wrong with it."""
        if isinstance(error, CompileError):
            self.add_all(error.diagnostics)
        else:
            self.add(error.message, error.location, error.hint)

    def add_all(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            level = "note" if diagnostic.severity is Severity.NOTE else str(diagnostic.severity)
            self.add(diagnostic.message, diagnostic.location, diagnostic.hint, level)


def objects_of(name: str, text: str) -> Sequence[Resource]:
    """Return the objects of a text; raise InputError."""
    return resources(documents_of(name, text))


@lru_cache(maxsize=_KEPT)
def documents_of(name: str, text: str) -> tuple[Document, ...]:
    """Return the documents of a text; raise InputError."""
    if len(text) > MOST_CHARACTERS:
        hint = "chartkit scan takes files of any size"
        message = f"has more than {MOST_CHARACTERS:,} characters"
        raise InputError(message, Location(name, 1, 1), hint)
    return tuple(read_text(text, name))


def typed(given: Body, name: str, kind: type[_Value]) -> _Value:
    """Return a member of a call's input, an empty one where it is missing; raise InputError for one
    of another type."""
    value = given.get(name, kind())
    if not isinstance(value, kind):
        raise InputError(f"{name} is not a {kind.__name__}")
    return value
