"""The report of `chartkit estimate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.addons.serve.estimate.kyverno_settings import EngineSettings
from chartkit.addons.serve.estimate.measurements import MEBIBYTE, MEGABYTE, Measured, measurements
from chartkit.addons.serve.estimate.model import OPERATIONS, Estimate, KindLoad
from chartkit.engine import Operation
from chartkit.model import Body, Diagnostic
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import Finding, diagnostic_finding
from chartkit.report.markdown import markdown_table
from chartkit.report.text.layout import Screen, table
from chartkit.safe_text import markdown_cell, shown

_HEAD: Final = ("KIND", "OBJECTS", "CREATE", "UPDATE", "DELETE", "REPORTS")
_FIGURES: Final = ("FIGURE", "VALUE", "BASIS")
_RULE: Final = "estimate"


def report(found: Estimate) -> CommandReport:
    """Return an estimate for every format."""
    return CommandReport(
        text=lambda screen: _text(found, screen),
        value=lambda: _json(found),
        rows="kinds",
        own={"markdown": lambda: _markdown(found)},
        findings=lambda: _findings(found),
    )


def _text(found: Estimate, screen: Screen) -> str:
    lines = [_headline(found), ""]
    lines += table(_aligned([_HEAD, *_rows(found), _totals(found)]), screen.width)
    if found.reviews.a_day:
        lines.append(f"CronJobs send {found.reviews.a_day:,.0f} AdmissionReviews a day")
    lines.append("")
    lines += table([_FIGURES, *_figures(found)], screen.width)
    for each in found.advice:
        lines += ["", f"{each.severity}  {each.key}: {shown(each.message)}"]
        lines += [f"  → {shown(each.values)}"] if each.values else []
    lines += ["", *(f"note: {shown(each)}" for each in found.notes)] if found.notes else []
    return "\n".join(lines) + "\n"


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows whose cells after the first are aligned to the right, dashes among them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        [row[0], *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        for row in rows
    ]


def _headline(found: Estimate) -> str:
    whose = f"{shown(found.environment)}: " if found.environment else ""
    objects = _count(found.objects, "object", "objects")
    policies = _count(found.policies, "policy", "policies")
    hooks = _count(len(found.webhooks), "webhook", "webhooks")
    return f"{whose}{objects} under {policies}, with {hooks}; AdmissionReviews are the fewest"


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _rows(found: Estimate) -> Iterator[tuple[str, ...]]:
    for each in found.kinds:
        numbers = (each.reviews.by_operation[operation] for operation in OPERATIONS)
        reviews = ("-",) * len(OPERATIONS) if each.made else tuple(map(str, numbers))
        name = f"{each.kind} (made)" if each.made else each.kind
        yield shown(name), str(each.objects), *reviews, str(each.reports)


def _totals(found: Estimate) -> tuple[str, ...]:
    objects = sum(each.objects for each in found.kinds)
    numbers = (str(found.reviews.by_operation[operation]) for operation in OPERATIONS)
    return "total", str(objects), *numbers, str(found.reports.reports)


def _figures(found: Estimate) -> Iterator[tuple[str, str, str]]:
    """Yield the figures about reports: name, value and basis."""
    reports, settings = found.reports, found.settings
    if not reports.reports:
        why = "" if settings.writes_reports else "by Kyverno's settings"
        yield "PolicyReports", "0", why
        return
    yield "PolicyReports", f"{reports.reports:,}", f"counted, with {reports.results:,} results"
    yield "their JSON", f"{reports.size / MEGABYTE:,.1f} MB", "counted"
    each = found.growth / reports.reports
    basis = f"{each:,.0f} bytes a report as measured, with its Pod and what etcd keeps of both"
    if reports.mean > measurements().policies:
        basis = f"{each:,.0f} bytes a report, more than measured for its {reports.mean:.1f} results"
    yield "growth of etcd", f"{found.growth / MEGABYTE:,.1f} MB", basis
    size = f"{found.database.value / MEGABYTE:,.0f} MB"
    yield "etcd's database", size, f"{found.database.basis}; with all else in the cluster measured"
    memory = f"{found.memory.value / MEBIBYTE:,.0f}Mi"
    limit = settings.memory_limit
    own = "" if limit is None else f"; the limit is {limit / MEBIBYTE:,.0f}Mi"
    yield "memory of the reports controller", memory, f"{found.memory.basis}{own}"
    if settings.background_scan:
        value = f"{reports.reports:,} objects"
        yield "background scans", value, f"every {settings.interval}"


def _json(found: Estimate) -> Body:
    return {
        "environment": found.environment or None,
        "source": measurements().source,
        "objects": found.objects,
        "policies": found.policies,
        "webhooks": [
            {"name": name, "policies": list(names)} for name, names in found.webhooks.items()
        ],
        "kinds": [_kind(each) for each in found.kinds],
        "reviews": {
            **_by_operation(found.reviews.by_operation),
            "aDay": round(found.reviews.a_day, 1),
        },
        "reports": _counted(found),
        "database": _measured(found.database),
        "memory": {**_measured(found.memory), "limit": found.settings.memory_limit},
        "settings": _settings(found.settings),
        "advice": [
            {
                "severity": str(each.severity),
                "key": each.key,
                "message": each.message,
                "values": each.values or None,
            }
            for each in found.advice
        ],
        "notes": list(found.notes),
    }


def _kind(load: KindLoad) -> Body:
    return {
        "kind": load.kind,
        "made": load.made,
        "measured": load.is_measured,
        "objects": load.objects,
        "reviews": _by_operation(load.reviews.by_operation),
        "reports": load.reports,
    }


def _counted(found: Estimate) -> Body:
    reports = found.reports
    return {
        "count": reports.reports,
        "results": reports.results,
        "bytes": reports.size,
        "growth": round(found.growth),
        "passing": reports.passing,
        "filtered": reports.filtered,
        "revisions": reports.revisions,
        "ephemeral": reports.ephemeral,
    }


def _settings(settings: EngineSettings) -> Body:
    return {
        "known": settings.is_known,
        "admissionReports": settings.admission_reports,
        "aggregateReports": settings.aggregate_reports,
        "policyReports": settings.policy_reports,
        "backgroundScan": settings.background_scan,
        "backgroundScanInterval": settings.interval,
        "skipResourceFilters": settings.skip_resource_filters,
        "allowedResults": sorted(settings.results),
        "replicas": settings.replicas,
    }


def _by_operation(numbers: Mapping[Operation, int]) -> Body:
    return {str(operation): number for operation, number in numbers.items()}


def _measured(value: Measured) -> Body:
    return {"bytes": round(value.value), "basis": value.basis}


def _markdown(found: Estimate) -> str:
    rows = [*_rows(found), _totals(found)]
    lines = [f"# {markdown_cell(_headline(found))}", "", markdown_table(_HEAD, rows).rstrip()]
    lines += ["", markdown_table(_FIGURES, list(_figures(found))).rstrip()]
    if found.advice:
        cells = [
            (str(each.severity), each.key, each.message, each.values or "-")
            for each in found.advice
        ]
        head = ("Severity", "Key", "What", "Values")
        lines += ["", markdown_table(head, cells).rstrip()]
    lines += ["", *(f"- {markdown_cell(each)}" for each in found.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _findings(found: Estimate) -> Iterator[Finding]:
    for each in found.advice:
        message = f"{each.key}: {each.message}"
        hint = each.values or None
        yield diagnostic_finding(Diagnostic(_RULE, each.severity, message, None, hint))
