"""Charts that pass values on to Kyverno's chart: which keys of a values file are Kyverno's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chartkit.documents.embedded import embedded_mapping
from chartkit.documents.reader import Document, read_file
from chartkit.model import Body, Diagnostic, Severity, mappings_at, text_of
from chartkit.values.moved.current import ENGINE, REPORTER, REPORTERS_OWN


def chart_of(file: Path, chart: Path | None) -> Body:
    """Return the Chart.yaml of a chart, or the one next to a values file; empty for none."""
    found = (chart or file.parent) / "Chart.yaml"
    documents = read_file(found) if found.is_file() else []
    body = documents[0].body if documents else None
    return body if isinstance(body, dict) else {}


def engine_keys(chart: Body) -> list[str]:
    """Return the keys below which a chart takes values for Kyverno's chart, on which it depends."""
    return [
        text_of(each.get("alias")) or ENGINE
        for each in mappings_at(chart, "dependencies")
        if each.get("name") == ENGINE
    ]


def part_of(document: Document, key: str) -> Document:
    """Return the values below a key of a document, with their places."""
    body = document.body if isinstance(document.body, dict) else {}
    part = body.get(key)
    found = part if isinstance(part, dict) else {}
    return embedded_mapping(found, document.source.file, document, (key,))


def of_another_chart(chart: Body, overlays: Sequence[Document]) -> Diagnostic | None:
    """Return the note about values of a chart that is not Kyverno's and does not depend on it; None
    where they may be Kyverno's."""
    name = text_of(chart.get("name"))
    keys = {key for each in overlays if isinstance(each.body, dict) for key in each.body}
    if not name and not keys.isdisjoint(REPORTERS_OWN):
        name = REPORTER
    if not name or name == ENGINE:
        return None
    message = f"these are values of the chart '{name}', not of Kyverno's: they are not checked"
    hint = "--chart FOLDER names the chart"
    return Diagnostic("helm", Severity.NOTE, message, overlays[-1].location, hint)
