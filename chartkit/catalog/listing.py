"""Policies as rows of a table, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from chartkit.catalog.model import Entry
from chartkit.model import Body

_HEAD: Final = ("POLICY", "LIBRARY", "SEVERITY", "KYVERNO", "KIND", "FORMS", "TITLE")
_NOTHING: Final = "-"


def as_text(entries: Sequence[Entry]) -> str:
    """A line a policy, in columns, and how many there are."""
    rows = [_HEAD, *map(_row, entries)] if entries else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    counted = "1 policy" if len(entries) == 1 else f"{len(entries)} policies"
    return "\n".join([*lines, counted]) + "\n"


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


def as_json(entries: Sequence[Entry]) -> str:
    """A list with an entry for every policy."""
    return json.dumps([entry_body(each) for each in entries], indent=2, ensure_ascii=False) + "\n"


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


FORMATS: Final[Mapping[str, Callable[[Sequence[Entry]], str]]] = {"text": as_text, "json": as_json}
"""The ways to write a list of policies."""
