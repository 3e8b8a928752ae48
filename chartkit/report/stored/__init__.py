"""JSON reports of scans, read back: merged into one, or compared with each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from chartkit.documents.reader import read_file
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    Json,
    Location,
    Resource,
    Severity,
    Status,
    mapping_at,
    mappings_at,
    text_of,
)
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import FAILED, Finding, FindingRule
from chartkit.report.model import Acceptance, AcceptedAs, Guidance, ReportOptions, resource_id
from chartkit.safe_text import shown

_PLACE: Final = re.compile(r"(?P<file>.*?)(?::(?P<line>\d+))?(?::(?P<column>\d+))?", re.DOTALL)
_LEVELS: Final = {str(status): Severity.ERROR for status in FAILED} | {"warn": Severity.WARNING}

_NO_GUIDANCE: Final = Guidance()
Guide: TypeAlias = Callable[[Collection[str]], Mapping[str, Guidance]]
"""A function that gives guidance for policies by their names."""


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report of a scan; name: of the environment that it is of, empty if none is given."""

    name: str
    counts: Counter[Status]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class ReportChanges:
    """The findings that one report has more or less than an earlier one."""

    new: tuple[Finding, ...]
    fixed: tuple[Finding, ...]
    unchanged: int


def read_report(path: Path, name: str = "") -> StoredReport:
    """Read a report of `chartkit scan -o json` (or yaml); raise InputError for another file."""
    documents = read_file(path)
    body = documents[0].body if len(documents) == 1 else None
    summary = mapping_at(body).get("summary")
    if not isinstance(summary, dict) or not isinstance(mapping_at(body).get("results"), list):
        hint = "write it with `chartkit scan -o json=FILE`"
        raise InputError("is not a report of a scan", Location(str(path)), hint)
    rows = mappings_at(body, "results")
    counts = Counter({status: _number(summary.get(status)) for status in Status})
    findings: list[Finding] = []
    for row in rows:
        result = text_of(row.get("result"))
        if result not in _LEVELS:
            continue
        policy, rule = text_of(row.get("policy")), text_of(row.get("rule"))
        severity, category = text_of(row.get("severity")), text_of(row.get("category"))
        own_id = f"{policy}/{rule}" if rule else policy
        location = Location(text_of(row.get("location")))
        if match := _PLACE.fullmatch(location.file):
            location = Location(match["file"], int(match["line"] or 0), int(match["column"] or 0))
        accepted, acceptance = mapping_at(row.get("accepted")), None
        if accepted.get("state") in list(AcceptedAs):
            reason, until = text_of(accepted.get("reason")), text_of(accepted.get("until"))
            acceptance = Acceptance(AcceptedAs(accepted["state"]), reason, until)
        finding = Finding(
            FindingRule(own_id, policy, rule, severity=severity, category=category),
            _LEVELS[result],
            result,
            text_of(row.get("message")),
            location,
            text_of(row.get("field")),
            resource=_resource(text_of(row.get("resource"))),
            action=text_of(row.get("action")),
            acceptance=acceptance,
            environment=name,
        )
        findings.append(finding)
    return StoredReport(name, counts, tuple(findings))


def changes(before: StoredReport, after: StoredReport) -> ReportChanges:
    """Compare two reports by policy, rule, object and field; what is accepted is not a finding."""
    old, new = (
        {finding.fingerprint: finding for finding in report.findings if finding.acceptance is None}
        for report in (before, after)
    )
    return ReportChanges(
        tuple(finding for key, finding in new.items() if key not in old),
        tuple(finding for key, finding in old.items() if key not in new),
        len(old.keys() & new.keys()),
    )


def merged(reports: Sequence[StoredReport], guide: Guide) -> CommandReport:
    """Return several reports as one for every format; guide: gives guidance for policies."""

    def findings() -> Iterator[Finding]:
        return _guided([finding for report in reports for finding in report.findings], guide)

    return CommandReport(
        text=lambda _width: _merged_text(reports),
        value=lambda: {
            "environments": {
                report.name: {str(word): report.counts[word] for word in Status}
                for report in reports
            },
            "findings": [_row(finding) for report in reports for finding in report.findings],
        },
        rows="findings",
        findings=findings,
    )


def _guided(findings: Sequence[Finding], guide: Guide) -> Iterator[Finding]:
    """Yield findings with what to change, pages and controls."""
    guidance = guide({finding.rule.policy for finding in findings})
    for finding in findings:
        about = guidance.get(finding.rule.policy, _NO_GUIDANCE)
        rule = replace(
            finding.rule, remediation=about.remediation, url=about.url, controls=about.controls
        )
        yield replace(finding, rule=rule)


def compared(changes: ReportChanges, guide: Guide = lambda _names: {}) -> CommandReport:
    """Return the difference of two reports for every format; findings that are new are its
    findings; guide: gives guidance for policies."""
    return CommandReport(
        text=lambda _width: _compared_text(changes),
        value=lambda: {
            "new": [_row(finding) for finding in changes.new],
            "fixed": [_row(finding) for finding in changes.fixed],
            "unchanged": changes.unchanged,
        },
        rows="new",
        own={"html": lambda: _compared_page(changes, guide)},
        findings=lambda: changes.new,
    )


def _compared_page(report: ReportChanges, guide: Guide) -> str:
    """Return a page with what is new and what is fixed side by side."""
    from chartkit.report.html import Heading, HtmlWriter

    totals = {"new": len(report.new), "fixed": len(report.fixed), "unchanged": report.unchanged}
    heading = Heading("What changed between two policy reports", "change", totals)
    writer = HtmlWriter(ReportOptions(), heading)
    for finding in _guided(report.new, guide):
        writer.write(replace(finding, environment="new"))
    for finding in _guided(report.fixed, guide):
        writer.write(replace(finding, environment="fixed", result="fixed"))
    return "".join(writer.finish(Counter()))


def _resource(identity: str) -> Resource | None:
    """Return the object of `apiVersion/kind/namespace/name`, None for plain JSON."""
    parts = identity.rsplit("/", 3)
    if len(parts) < 4:
        return None
    version, kind, namespace, name = parts
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return Resource({"apiVersion": version, "kind": kind, "metadata": metadata})


def _merged_text(reports: Sequence[StoredReport]) -> Iterator[str]:
    for report in reports:
        totals = ", ".join(f"{status}: {report.counts[status]}" for status in Status)
        yield f"{shown(report.name)}: {totals}"


def _compared_text(report: ReportChanges) -> Iterator[str]:
    for word, findings in (("new", report.new), ("fixed", report.fixed)):
        for finding in findings:
            where = "  ".join(filter(None, (str(finding.location), shown(finding.field))))
            yield f"{word}  {shown(finding.rule.id)}  {shown(finding.subject)}  {where}"
    yield f"new: {len(report.new)}, fixed: {len(report.fixed)}, unchanged: {report.unchanged}"


def _row(finding: Finding) -> Body:
    return {
        "environment": finding.environment,
        "policy": finding.rule.policy,
        "rule": finding.rule.name,
        "resource": resource_id(finding.resource) if finding.resource else "",
        "result": finding.result,
        "message": finding.message,
        "severity": finding.rule.severity,
        "category": finding.rule.category,
        "location": str(finding.location),
        "field": finding.field,
        "accepted": str(finding.acceptance or ""),
    }


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
