"""The summary of all checks: one table for people, one object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import click

from chartkit.model import Diagnostic, Severity, single_line
from chartkit.render.model import Outcome, Row
from chartkit.report.finding import Finding, diagnostic_finding
from chartkit.safe_text import shown

_HEADINGS = ("ENVIRONMENT", "CHECK", "RESULT", "LOCATION", "MESSAGE")
_COLOURS = {
    Outcome.PASS: "green",
    Outcome.NOTE: "cyan",
    Outcome.WARNING: "yellow",
    Outcome.FAIL: "red",
}

_SEVERITIES = {
    Outcome.FAIL: Severity.ERROR,
    Outcome.WARNING: Severity.WARNING,
    Outcome.NOTE: Severity.NOTE,
}


def as_text(rows: Sequence[Row], colour: bool = False) -> str:
    """Return a table with a hint below its row, and the totals; it ends with a newline."""
    cells = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS) - 1)]
    lines = [_line(_HEADINGS, widths, None)]
    for row, line in zip(rows, cells[1:], strict=True):
        lines.append(_line(line, widths, row.outcome if colour else None))
        if row.hint:
            lines.append(" " * (sum(widths) + 2 * len(widths)) + f"→ {row.hint}")
    counts = Counter(row.outcome for row in rows)
    lines += ["", ", ".join(f"{outcome}: {counts[outcome]}" for outcome in Outcome)]
    return "\n".join(lines) + "\n"


def as_json(rows: Sequence[Row]) -> dict[str, Any]:
    """`{"summary": {pass, note, warning, fail}, "rows": [{environment, check, result, …}]}`."""
    counts = Counter(row.outcome for row in rows)
    return {
        "summary": {str(outcome): counts[outcome] for outcome in Outcome},
        "rows": [
            {
                "environment": row.environment,
                "check": row.check,
                "result": str(row.outcome),
                "message": row.message,
                "location": str(row.location) if row.location else None,
                "hint": row.hint,
            }
            for row in rows
        ],
    }


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield what is not a pass, for the formats of pipelines."""
    for row in rows:
        if row.outcome is not Outcome.PASS:
            message = f"{row.environment}: {row.message}" if row.environment else row.message
            diagnostic = Diagnostic(
                row.check, _SEVERITIES[row.outcome], message, row.location, row.hint
            )
            yield diagnostic_finding(diagnostic)


def _cells(row: Row) -> tuple[str, ...]:
    where = str(row.location) if row.location else ""
    return shown(row.environment), row.check, str(row.outcome), where, single_line(row.message)


def _line(cells: Sequence[str], widths: Sequence[int], outcome: Outcome | None) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    if outcome is not None:
        padded[2] = click.style(padded[2], fg=_COLOURS[outcome], bold=outcome is Outcome.FAIL)
    return "  ".join([*padded, cells[-1]]).rstrip()
