"""The report of `chartkit policies check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chartkit.catalog.authoring.check import EQUAL_FILE, CheckResult, MutationResult
from chartkit.model import Body, Explanation, Severity
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import diagnostic_body, diagnostic_findings
from chartkit.report.notes import grouped
from chartkit.wording import counted


def _text(found: CheckResult) -> Iterator[str]:
    """Yield a line for each finding, and how much was looked at."""
    yield from map(str, grouped(found.diagnostics, severities=(Severity.NOTE,), more="-o json"))
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in found.diagnostics)
    warnings = sum(diagnostic.severity is Severity.WARNING for diagnostic in found.diagnostics)
    total = f"{counted(found.policies, 'policy', 'policies')} checked"
    if found.libraries:
        vendored = counted(found.libraries, "vendored library", "vendored libraries")
        total += f", {vendored} compared with the lock file"
    counts = f"{counted(errors, 'error', 'errors')}, {counted(warnings, 'warning', 'warnings')}"
    yield f"{total}: {counts}"
    if found.mutation is not None:
        yield _mutants(found.mutation)


def _mutants(found: MutationResult) -> str:
    text = f"examples show {found.killed} of {counted(found.changes, 'change')}"
    if found.changes:
        text += f" ({100 * found.killed / found.changes:.1f} %)"
    if found.equal:
        text += f"; {found.equal} more that change nothing, with a reason in {EQUAL_FILE}"
    return f"{text}; {found.untried} not tried for lack of time" if found.untried else text


def _changes(found: MutationResult) -> Body:
    return {
        "shown": found.killed,
        "survived": len(found.survivors),
        "equal": found.equal,
        "untried": found.untried,
    }


def report(found: CheckResult, explanations: Mapping[str, Explanation]) -> CommandReport:
    """Return what a check found for every format; explanations: of the ids of findings."""
    return CommandReport(
        text=lambda _width: _text(found),
        value=lambda: {
            "policies": found.policies,
            "libraries": found.libraries,
            "findings": list(map(diagnostic_body, found.diagnostics)),
            **({} if found.mutation is None else {"changes": _changes(found.mutation)}),
        },
        rows="findings",
        findings=lambda: diagnostic_findings(found.diagnostics, explanations),
    )
