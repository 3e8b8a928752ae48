"""What a check says: one row of the summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from chartkit.model import Diagnostic, Location, Severity

HELM_WARNINGS: Final = "helm warnings"
"""The check whose rows are what Helm itself warns of."""
POLICY_WARNINGS: Final = "policy warnings"


class Outcome(StrEnum):
    """How a check ended; only `fail` fails the environment."""

    PASS = "pass"
    NOTE = "note"
    WARNING = "warning"
    FAIL = "fail"


_OUTCOMES = {
    Severity.ERROR: Outcome.FAIL,
    Severity.WARNING: Outcome.WARNING,
    Severity.NOTE: Outcome.NOTE,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the environment, the check, how it ended, one line of text, place and way out."""

    environment: str
    check: str
    outcome: Outcome
    message: str
    location: Location | None = None
    hint: str | None = None


def counted(count: int, one: str, more: str) -> str:
    """A count with its words: `1 object`, `2 objects`."""
    return f"{count} {one if count == 1 else more}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a row, and how many more there are: `a, b and 3 others`."""
    more = len(names) - most
    shown = ", ".join(names[:most])
    return f"{shown} and {counted(more, 'other', 'others')}" if more > 0 else shown


def findings(
    environment: str, check: str, found: Iterable[Diagnostic], location: Location
) -> list[Row]:
    """A row a finding."""
    return [
        Row(
            environment,
            check,
            _OUTCOMES[each.severity],
            each.message,
            each.location or location,
            each.hint,
        )
        for each in found
    ]


def rows(
    environment: str, check: str, found: Iterable[Diagnostic], otherwise: str, location: Location
) -> list[Row]:
    """A row a finding; where nothing is worse than a note, one that says what is right first."""
    result = findings(environment, check, found, location)
    if all(row.outcome is Outcome.NOTE for row in result):
        result.insert(0, Row(environment, check, Outcome.PASS, otherwise, location))
    return result
