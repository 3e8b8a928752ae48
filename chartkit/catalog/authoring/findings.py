"""The report of `chartkit policies check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chartkit.catalog.authoring.check import CheckResult
from chartkit.model import Explanation, Severity
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import diagnostic_body, diagnostic_findings
from chartkit.wording import counted


def _text(found: CheckResult) -> Iterator[str]:
    """Yield a line for each finding, and how much was looked at."""
    yield from map(str, found.diagnostics)
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in found.diagnostics)
    warnings = sum(diagnostic.severity is Severity.WARNING for diagnostic in found.diagnostics)
    total = f"{counted(found.policies, 'policy', 'policies')} checked"
    if found.libraries:
        vendored = counted(found.libraries, "vendored library", "vendored libraries")
        total += f", {vendored} compared with the lock file"
    counts = f"{counted(errors, 'error', 'errors')}, {counted(warnings, 'warning', 'warnings')}"
    yield f"{total}: {counts}"


def report(found: CheckResult, explanations: Mapping[str, Explanation]) -> CommandReport:
    """Return what a check found for every format; explanations: of the ids of findings."""
    return CommandReport(
        text=lambda _width: _text(found),
        value=lambda: {
            "policies": found.policies,
            "libraries": found.libraries,
            "findings": list(map(diagnostic_body, found.diagnostics)),
        },
        rows="findings",
        findings=lambda: diagnostic_findings(found.diagnostics, explanations),
    )
