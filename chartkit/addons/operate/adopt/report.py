"""The report of `chartkit adopt`: what was taken, what changes and what was left, as text or
JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import click

from chartkit.addons.operate.adopt.model import Outcome, Row
from chartkit.addons.operate.adopt.run import Adoption
from chartkit.model import Body, Diagnostic, Severity, single_line
from chartkit.report.command_report import Block, CommandReport
from chartkit.report.finding import Finding, diagnostic_finding
from chartkit.safe_text import shown

_COLOURS: Final = {
    Outcome.TAKEN: "green",
    Outcome.CHANGED: "yellow",
    Outcome.NOTE: "cyan",
    Outcome.LEFT: "red",
    Outcome.UNREAD: "red",
}
_SEVERITIES: Final = {
    Outcome.UNREAD: Severity.ERROR,
    Outcome.LEFT: Severity.WARNING,
    Outcome.CHANGED: Severity.NOTE,
    Outcome.NOTE: Severity.NOTE,
    Outcome.TAKEN: Severity.NOTE,
}
_WIDTH: Final = max(map(len, Outcome))


def report(adoption: Adoption) -> CommandReport:
    """Return what became of everything that is in use, for every format."""
    return CommandReport(
        text=lambda _width: _text(adoption),
        value=lambda: _value(adoption),
        rows="rows",
        findings=lambda: _findings(adoption),
    )


def _merged(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, those that several environments have as one."""
    found: dict[Row, list[str]] = {}
    for row in rows:
        found.setdefault(replace(row, environment=""), []).append(row.environment)
    return [
        replace(row, environment=", ".join(dict.fromkeys(filter(None, names))))
        for row, names in found.items()
    ]


def _text(adoption: Adoption) -> Iterator[Block]:
    """Yield a line or more for each row, in the order of outcomes, and the totals."""
    rows = _merged(adoption.rows)
    for outcome in Outcome:
        for row in rows:
            if row.outcome is outcome:
                word = click.style(str(row.outcome).ljust(_WIDTH), fg=_COLOURS[row.outcome])
                where = f" in {row.environment}" if row.environment else ""
                subject, location = row.subject, row.location
                place = f"  {shown(str(location))}" if location else ""
                if location is not None and subject.endswith(location.file):
                    subject, place = subject.removesuffix(location.file) + str(location), ""
                yield f"{word}  {shown(single_line(subject))}{shown(where)}{place}"
                margin = " " * (_WIDTH + 2)
                yield f"{margin}{shown(single_line(row.message))}"
                if row.hint:
                    yield f"{margin}→ {shown(single_line(row.hint))}"
    counts = Counter(row.outcome for row in rows)
    outcomes = [each for each in Outcome if each is not Outcome.UNREAD or counts[each]]
    yield from ("", ", ".join(f"{outcome}: {counts[outcome]}" for outcome in outcomes))


def _value(adoption: Adoption) -> Body:
    """Return the rows and the files for programs."""
    rows = _merged(adoption.rows)
    counts = Counter(row.outcome for row in rows)
    return {
        "summary": {str(outcome): counts[outcome] for outcome in Outcome},
        "files": sorted(adoption.files),
        "rows": [
            {
                "outcome": str(row.outcome),
                "subject": row.subject,
                "environments": row.environment.split(", ") if row.environment else [],
                "message": row.message,
                "location": str(row.location) if row.location else None,
                "hint": row.hint or None,
            }
            for row in rows
        ],
    }


def _findings(adoption: Adoption) -> Iterator[Finding]:
    for row in _merged(adoption.rows):
        where = f" in {row.environment}" if row.environment else ""
        text = f"{row.subject}{where}: {row.message}"
        severity = _SEVERITIES[row.outcome]
        diagnostic = Diagnostic(str(row.outcome), severity, text, row.location, row.hint or None)
        yield diagnostic_finding(diagnostic)
