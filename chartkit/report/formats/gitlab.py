"""GitLab's code quality report, which merge requests show at their lines.

Source: GitLab's documentation of Code Quality, "Import code quality results from a CI/CD job".
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Final

from chartkit.model import Body, Severity, Status
from chartkit.report.finding import Finding, FindingFormat
from chartkit.report.json_report import json_text
from chartkit.report.model import ReportOptions
from chartkit.report.spool import Spool

_OF_SEVERITY: Final = {
    "critical": "blocker",
    "high": "critical",
    "medium": "major",
    "low": "minor",
    "info": "info",
}
_OF_LEVEL: Final = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


class GitlabWriter(FindingFormat):
    """A list of issues; those that are known or suppressed have the severity `info`."""

    def __init__(self, options: ReportOptions) -> None:
        super().__init__(options)
        self._spool = Spool()

    def write(self, finding: Finding) -> None:
        text = f"{finding.subject}: {finding.message}" if finding.subject else finding.message
        severity = _OF_SEVERITY.get(finding.rule.severity, _OF_LEVEL[finding.level])
        if finding.acceptance is not None:
            text, severity = f"{text} ({finding.acceptance})", "info"
        location = finding.location
        line = location.line if location is not None and finding.file else 0
        fingerprint_text = f"{finding.file}\0{finding.fingerprint}".encode("utf-8", "replace")
        body: Body = {
            "description": text or finding.rule.id,
            "check_name": finding.rule.id,
            "fingerprint": hashlib.sha256(fingerprint_text).hexdigest()[:32],
            "severity": severity,
            "location": {
                "path": finding.repository_file or finding.subject or finding.rule.id,
                "lines": {"begin": max(line, 1)},
            },
        }
        self._spool.write(f",\n{json_text(body, indent=None)}")

    def part(self) -> bytes:
        return self._spool.part()

    def append(self, part: bytes) -> None:
        self._spool.append(part)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:  # noqa: ARG002 - failures alone
        yield "["
        yield from self._spool.pieces(start=1)
        yield "\n]\n" if self._spool.size else "]\n"


writer: Final = GitlabWriter
