"""Findings of a check, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from chartkit.catalog.authoring.check import CheckResult
from chartkit.model import Body, Explanation, Severity
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import diagnostic_body, diagnostic_findings
from chartkit.wording import counted


def as_text(found: CheckResult) -> str:
    """A line a finding, and how much was looked at."""
    errors = sum(each.severity is Severity.ERROR for each in found.diagnostics)
    warnings = sum(each.severity is Severity.WARNING for each in found.diagnostics)
    total = f"{counted(found.policies, 'policy', 'policies')} checked"
    if found.libraries:
        vendored = counted(found.libraries, "vendored library", "vendored libraries")
        total += f", {vendored} compared with the lock file"
    counts = f"{counted(errors, 'error', 'errors')}, {counted(warnings, 'warning', 'warnings')}"
    return "".join(f"{line}\n" for line in [*map(str, found.diagnostics), f"{total}: {counts}"])


def as_json(found: CheckResult) -> Body:
    """One object: `policies`, `libraries` and `findings`."""
    return {
        "policies": found.policies,
        "libraries": found.libraries,
        "findings": [diagnostic_body(each) for each in found.diagnostics],
    }


def report(found: CheckResult, explanations: Mapping[str, Explanation]) -> CommandReport:
    """Return what a check found for every format; explanations: of the ids of findings."""
    return CommandReport(
        text=lambda _screen: as_text(found),
        value=lambda: as_json(found),
        rows="findings",
        findings=lambda: diagnostic_findings(found.diagnostics, explanations),
    )
