"""Policies as rows of a table, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chartkit.catalog.model import Entry
from chartkit.model import Body
from chartkit.report.command_report import CommandReport
from chartkit.report.markdown import markdown_table
from chartkit.report.text.layout import table
from chartkit.wording import counted

_HEAD: Final = ("POLICY", "LIBRARY", "SEVERITY", "KYVERNO", "KIND", "FORMS", "TITLE")
_NOTHING: Final = "-"


def as_text(entries: Sequence[Entry], width: int | None = None) -> str:
    """Return a row for each policy, and their number; width: of the terminal, if it is one."""
    lines = table([_HEAD, *map(_row, entries)], width) if entries else []
    return "\n".join([*lines, counted(len(entries), "policy", "policies")]) + "\n"


def _row(entry: Entry) -> tuple[str, ...]:
    return (
        entry.reference,
        entry.library,
        entry.severity or _NOTHING,
        entry.minimum or _NOTHING,
        ",".join(entry.kinds) or _NOTHING,
        ",".join(entry.forms),
        entry.title,
    )


def as_json(entries: Sequence[Entry]) -> Body:
    """Return one object: `policies`."""
    return {"policies": [entry_body(each) for each in entries]}


def entry_body(entry: Entry) -> Body:
    """Return an entry as a JSON object."""
    return {
        "library": entry.library,
        "reference": entry.reference,
        "name": entry.name,
        "title": entry.title,
        "description": entry.description,
        "category": entry.category,
        "severity": entry.severity,
        "subjects": list(entry.subjects),
        "kinds": list(entry.kinds),
        "forms": list(entry.forms),
        "minimumKyverno": entry.minimum,
        "file": entry.file,
        "line": entry.line,
    }


def as_markdown(entries: Sequence[Entry]) -> str:
    """Return a table."""
    return markdown_table(_HEAD, map(_row, entries))


def report(entries: Sequence[Entry]) -> CommandReport:
    """Return policies for every format."""
    return CommandReport(
        text=lambda screen: as_text(entries, screen.width),
        value=lambda: as_json(entries),
        rows="policies",
        own={"markdown": lambda: as_markdown(entries)},
    )
