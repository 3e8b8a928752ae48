"""Tables of comma-separated values (RFC 4180), in which spreadsheets run no formula."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, Final

from chartkit.model import Status
from chartkit.report.finding import Finding, FindingFormat
from chartkit.report.model import ReportOptions
from chartkit.report.spool import Spool
from chartkit.safe_text import escape_controls, without_commands

_COLUMNS: Final = (
    "result",
    "policy",
    "rule",
    "severity",
    "category",
    "action",
    "apiVersion",
    "kind",
    "namespace",
    "name",
    "field",
    "file",
    "line",
    "column",
    "message",
    "accepted",
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠")
"""The beginnings of text that a spreadsheet may take for a formula."""


class CsvWriter(FindingFormat):
    """A table of failures, warnings and errors; with `detailed`, of every result."""

    with_passes: ClassVar[bool] = True

    def __init__(self, options: ReportOptions) -> None:
        super().__init__(options)
        self._spool = Spool()
        self._write_row = csv.writer(self._spool, lineterminator="\n").writerow

    def write(self, finding: Finding) -> None:
        rule, resource, location = finding.rule, finding.resource, finding.location
        written = location if location is not None and finding.file else None
        cells = (
            finding.result,
            rule.policy,
            rule.name,
            rule.severity,
            rule.category,
            finding.action,
            resource.api_version if resource else "",
            resource.kind if resource else "",
            resource.namespace if resource else "",
            resource.name if resource else "",
            finding.field,
            finding.file or (location.file if location else ""),
            str(written.line) if written and written.line else "",
            str(written.column) if written and written.column else "",
            f"{finding.message} ({finding.hint})" if finding.hint else finding.message,
            str(finding.acceptance or ""),
        )
        self._write_row(map(_cell, cells))

    def part(self) -> bytes:
        return self._spool.part()

    def append(self, part: bytes) -> None:
        self._spool.append(part)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:  # noqa: ARG002 - rows alone
        yield f"{','.join(_COLUMNS)}\n"
        yield from self._spool.pieces()


writer: Final = CsvWriter


@lru_cache(maxsize=512)
def _cell(text: str) -> str:
    """Return a text that a spreadsheet shows as it is, after an apostrophe where it would not."""
    if text.isalnum():
        return text
    text = without_commands(escape_controls(text))
    return f"'{text}" if text.startswith(_FORMULA) else text
