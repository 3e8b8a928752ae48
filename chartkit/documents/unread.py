"""Rows about inputs that cannot be read; everything else is judged without them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chartkit.errors import ChartkitError
from chartkit.model import Diagnostic, Severity

UNREAD: Final = "unread"
"""The id of the rows; a command that has one exits with 2."""


def unread(error: ChartkitError) -> Diagnostic:
    """Return the row about a file, folder or chart that cannot be read: the error's place, reason
    and way out."""
    return Diagnostic(UNREAD, Severity.ERROR, error.message, error.location, error.hint)


def any_unread(rows: Iterable[Diagnostic]) -> bool:
    """Report whether some input could not be read."""
    return any(row.rule_id == UNREAD for row in rows)
