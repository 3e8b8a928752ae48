"""The summary of all checks: a grid and findings for people, one object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from chartkit.model import Diagnostic, Severity, single_line
from chartkit.render.model import Outcome, Row
from chartkit.report.command_report import Block, Table
from chartkit.safe_text import shown
from chartkit.wording import counted, shortened

_HEADINGS = ("ENVIRONMENT", "CHECK", "RESULT", "LOCATION", "MESSAGE")
_EXAMPLES = 3
"""The objects of a policy whose places are shown."""
_LONGEST = 150
"""Characters of a message that represents several."""
_COLOURS = {
    Outcome.PASS: "green",
    Outcome.NOTE: "cyan",
    Outcome.WARNING: "yellow",
    Outcome.FAIL: "red",
}

_CELLS = {
    Outcome.PASS: "✓ pass",
    Outcome.NOTE: "· note",
    Outcome.WARNING: "! warning",
    Outcome.FAIL: "✗ fail",
}
_ORDER = (Outcome.PASS, Outcome.NOTE, Outcome.WARNING, Outcome.FAIL)
_SEVERITIES = {
    Outcome.FAIL: Severity.ERROR,
    Outcome.WARNING: Severity.WARNING,
    Outcome.NOTE: Severity.NOTE,
}


def blocks(
    rows: Sequence[Row], width: int | None, verbose: bool = False, quiet: bool = False
) -> Iterator[Block]:
    """Yield a grid of the checks and what is not a pass, failures last, then the totals. width:
    columns to wrap at, None if there is none; verbose: one line for every row in place of the grid;
    quiet: failures alone, without the grid."""
    counts = Counter(row.outcome for row in rows)
    if verbose:
        yield Table(_HEADINGS, list(map(_cells, rows)))
    else:
        yield from () if quiet else _grid(rows, width)
        yield from _findings(
            [row for row in rows if row.outcome is Outcome.FAIL] if quiet else rows
        )
    yield from ("", ", ".join(f"{outcome}: {counts[outcome]}" for outcome in Outcome))


def _grid(rows: Sequence[Row], width: int | None) -> Iterator[str]:
    """Yield a line for each check with a column for each environment; what does not fit into the
    width follows below, with the checks again."""
    outcomes: dict[tuple[str, str], Outcome] = {}
    for row in rows:
        for name in _environments(row):
            worst = max(outcomes.get((row.check, name), row.outcome), row.outcome, key=_ORDER.index)
            outcomes[row.check, name] = worst
    checks = list(dict.fromkeys(check for check, _ in outcomes))
    names = list(dict.fromkeys(name for _, name in outcomes))
    first = max(map(len, ("CHECK", *checks)))
    wide = max(map(len, (*map(shown, names), *_CELLS.values())))
    most = len(names) if width is None else max(1, (width - first) // (wide + 2))
    for start in range(0, len(names), most):
        if start:
            yield ""
        block = names[start : start + most]
        heads = "  ".join(shown(name).ljust(wide) for name in block)
        yield f"{'CHECK'.ljust(first)}  {heads}".rstrip()
        for check in checks:
            cells = [_cell(outcomes.get((check, name)), wide) for name in block]
            yield f"{check.ljust(first)}  {'  '.join(cells)}".rstrip()


def _cell(outcome: Outcome | None, width: int) -> str:
    if outcome is None:
        return "-".ljust(width)
    cell = _CELLS[outcome]
    return click.style(cell, fg=_COLOURS[outcome]) + " " * (width - len(cell))


def _findings(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what is not a pass, once for all environments that have it, and the violations of a
    policy as one; failures come last."""
    by_row: dict[Row, list[Row]] = {}
    for row in rows:
        if row.outcome is not Outcome.PASS:
            if row.policy:
                alike: Row = replace(row, location=None, message="", subject="")
            else:
                alike = replace(row, environment="", location=None)
            by_row.setdefault(alike, []).append(row)
    for row in sorted(by_row, key=lambda row: _ORDER.index(row.outcome)):
        same = by_row[row]
        names = dict.fromkeys(shown(name) for other in same for name in _environments(other))
        outcome = click.style(str(row.outcome), fg=_COLOURS[row.outcome], bold=True)
        subjects = {other.subject: other for other in reversed(same)}
        yield ""
        if len(subjects) > 1:
            objects = counted(len(subjects), "object", "objects")
            yield f"{outcome}  {row.check} ({', '.join(names)})  {row.policy}: {objects}"
            yield f"  {shortened(single_line(same[0].message), _LONGEST)}"
            examples = list(reversed(subjects.values()))[:_EXAMPLES]
            more = ", …" if len(subjects) > _EXAMPLES else ""
            yield f"  at {', '.join(str(example.location) for example in examples)}{more}"
        else:
            places = dict.fromkeys(str(other.location) for other in same if other.location)
            yield f"{outcome}  {row.check} ({', '.join(names)})  {', '.join(places)}".rstrip()
            yield from (f"  {line}" for line in dict.fromkeys(single_line(e.message) for e in same))
        if row.hint and (len(subjects) == 1 or row.outcome is Outcome.FAIL):
            yield f"  → {single_line(row.hint)}"


def _environments(row: Row) -> list[str]:
    """Return the names of a row's environments; `all` if it names none."""
    return row.environment.split(", ") if row.environment else ["all"]


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
                **({"policy": row.policy, "object": row.subject} if row.policy else {}),
            }
            for row in rows
        ],
    }


def findings(rows: Sequence[Row]) -> Iterator[Diagnostic]:
    """Yield what is not a pass, for the formats of pipelines."""
    for row in rows:
        if row.outcome is not Outcome.PASS:
            message = f"{row.environment}: {row.message}" if row.environment else row.message
            severity = _SEVERITIES[row.outcome]
            yield Diagnostic(row.check, severity, message, row.location, row.hint)


def _cells(row: Row) -> tuple[str, ...]:
    message, bold = single_line(row.message), row.outcome is Outcome.FAIL
    outcome = click.style(str(row.outcome), fg=_COLOURS[row.outcome], bold=bold)
    if row.hint:
        message += f"\n→ {row.hint}"
    where = str(row.location) if row.location else ""
    return shown(row.environment), row.check, outcome, where, message
