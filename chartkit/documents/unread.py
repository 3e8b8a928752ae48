"""Rows about inputs that cannot be read; everything else is judged without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from chartkit.documents.input_files import LFS_POINTER
from chartkit.errors import ChartkitError, InputError, RenderError
from chartkit.model import Diagnostic, Location, Severity

UNREAD: Final = "unread"
"""The id of the rows."""
EXIT_CODE: Final = 2
"""The exit code of a command that has such a row, whatever else it finds."""


def unread(error: ChartkitError) -> Diagnostic:
    """Return the row about a file, folder or chart that cannot be read: the error's place, reason
    and way out."""
    return Diagnostic(UNREAD, Severity.ERROR, error.message, error.location, error.hint)


UNREADABLE: Final = (InputError, RenderError, OSError)
"""The errors of inputs that cannot be read."""
_WORDS: Final = (b"apiVersion", b"kind")


def unread_at(location: Location, error: Exception) -> Diagnostic:
    """Return the row about what cannot be read at a place, for one of the errors in `UNREADABLE`;
    the place counts where the error names none."""
    if isinstance(error, ChartkitError):
        return replace(unread(error), location=error.location or location)
    reason = getattr(error, "strerror", None) or error
    return Diagnostic(UNREAD, Severity.ERROR, f"cannot be read: {reason}", location)


def holds_no_object(content: bytes) -> bool:
    """Report whether the content of a file cannot hold a Kubernetes object: it lacks the text
    `apiVersion` or `kind`, and is no pointer of Git LFS."""
    if content.startswith(LFS_POINTER):
        return False
    text = content.replace(b"\x00", b"")  # UTF-16 has a zero byte for each of these letters.
    return not all(word in text for word in _WORDS)


def require_read(rows: Iterable[Diagnostic]) -> None:
    """Raise InputError for the first row about an input that cannot be read."""
    for row in filter(is_unread, rows):
        raise InputError(row.message, row.location, row.hint)


def strict(note: Callable[[Diagnostic], None]) -> Callable[[Diagnostic], None]:
    """Return a function that takes notes, and raises InputError for an input that cannot be read:
    for commands that need all of their inputs."""

    def take(row: Diagnostic) -> None:
        require_read((row,))
        note(row)

    return take


def is_unread(row: Diagnostic) -> bool:
    """Report whether a row is about an input that could not be read."""
    return row.rule_id == UNREAD


def any_unread(rows: Iterable[Diagnostic]) -> bool:
    """Report whether some input could not be read."""
    return any(map(is_unread, rows))
