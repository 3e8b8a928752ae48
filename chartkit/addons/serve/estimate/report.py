"""The report of `chartkit estimate`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.serve.estimate.advice import counted
from chartkit.addons.serve.estimate.measurements import (
    MEBIBYTE,
    MEGABYTE,
    OPERATIONS,
    Estimate,
    Measured,
    measurements,
)
from chartkit.addons.serve.estimate.webhooks import EngineSettings
from chartkit.engine import Operation, Reason, RunnablePolicy
from chartkit.engine.configuration import RESOURCE_FILTERS
from chartkit.model import Body, Diagnostic, Resource, RuleResult, RuleType, Status, mapping_at
from chartkit.report import PolicyFacts
from chartkit.report.command_report import Block, CommandReport, Heading, Items, Table
from chartkit.safe_text import shown

_HEAD: Final = ("KIND", "OBJECTS", "CREATE", "UPDATE", "DELETE", "REPORTS")
_FIGURES: Final = ("FIGURE", "VALUE", "BASIS")
_RULE: Final = "estimate"
_SCANNED: Final = frozenset((RuleType.VALIDATION, RuleType.IMAGE_VERIFY))
_SILENT: Final = frozenset((Status.PASS, Status.SKIP))
_UNREPORTED: Final = "reports.kyverno.io/disabled"
_UID: Final = "00000000-0000-0000-0000-000000000000"
_TIME: Final = "2024-01-01T00:00:00Z"
_FIELDS: Final = (
    "apiVersion",
    "metadata",
    "results",
    "scope",
    "summary",
    "ownerReferences",
    "labels",
)


def report(estimate: Estimate) -> CommandReport:
    """Return an estimate for every format."""
    return CommandReport(
        text=lambda _width: _text(estimate),
        value=lambda: _json(estimate),
        rows="kinds",
        markdown=lambda: _markdown(estimate),
        findings=lambda: _findings(estimate),
    )


def _text(estimate: Estimate) -> Iterator[Block]:
    yield _headline(estimate)
    yield ""
    yield Table(_HEAD, [*_rows(estimate), _totals(estimate)])
    if estimate.reviews.a_day:
        yield f"CronJobs send {estimate.reviews.a_day:,.0f} AdmissionReviews a day"
    yield ""
    yield Table(_FIGURES, list(_figures(estimate)))
    for advice in estimate.advice:
        yield ""
        yield f"{advice.severity}  {advice.key}: {shown(advice.message)}"
        if advice.values:
            yield f"  → {shown(advice.values)}"
    if estimate.notes:
        yield ""
    yield from (f"note: {shown(note)}" for note in estimate.notes)


def _headline(estimate: Estimate) -> str:
    whose = f"{shown(estimate.environment)}: " if estimate.environment else ""
    objects, hooks = counted(estimate.objects, "object"), counted(len(estimate.webhooks), "webhook")
    policies = counted(estimate.policies, "policy", "policies")
    return f"{whose}{objects} under {policies}, with {hooks}; AdmissionReviews are the fewest"


def _rows(estimate: Estimate) -> Iterator[tuple[str, ...]]:
    for kind_load in estimate.kinds:
        numbers = (kind_load.reviews.by_operation[operation] for operation in OPERATIONS)
        reviews = ("-",) * len(OPERATIONS) if kind_load.made else tuple(map(str, numbers))
        name = f"{kind_load.kind} (made)" if kind_load.made else kind_load.kind
        yield shown(name), str(kind_load.objects), *reviews, str(kind_load.reports)


def _totals(estimate: Estimate) -> tuple[str, ...]:
    objects = sum(kind_load.objects for kind_load in estimate.kinds)
    numbers = (str(estimate.reviews.by_operation[operation]) for operation in OPERATIONS)
    return "total", str(objects), *numbers, str(estimate.reports.reports)


def _figures(load: Estimate) -> Iterator[tuple[str, str, str]]:
    """Yield the figures about reports: name, value and basis."""
    reports, settings = load.reports, load.settings
    if not reports.reports:
        why = "" if settings.writes_reports else "by Kyverno's settings"
        yield "PolicyReports", "0", why
        return
    yield "PolicyReports", f"{reports.reports:,}", f"counted, with {reports.results:,} results"
    yield "their JSON", f"{reports.size / MEGABYTE:,.1f} MB", "counted"
    unit = load.growth / reports.reports
    basis = f"{unit:,.0f} bytes a report as measured, with its Pod and what etcd keeps of both"
    if reports.mean > measurements().policies:
        basis = f"{unit:,.0f} bytes a report, more than measured for its {reports.mean:.1f} results"
    yield "growth of etcd", f"{load.growth / MEGABYTE:,.1f} MB", basis
    size = f"{load.database.value / MEGABYTE:,.0f} MB"
    yield "etcd's database", size, f"{load.database.basis}; with all else in the cluster measured"
    memory = f"{load.memory.value / MEBIBYTE:,.0f}Mi"
    limit = settings.memory_limit
    own = "" if limit is None else f"; the limit is {limit / MEBIBYTE:,.0f}Mi"
    yield "memory of the reports controller", memory, f"{load.memory.basis}{own}"
    if settings.background_scan:
        value = f"{reports.reports:,} objects"
        yield "background scans", value, f"every {settings.interval}"


def _json(estimate: Estimate) -> Body:
    settings = estimate.settings
    setting_rows = {
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
    return {
        "environment": estimate.environment or None,
        "source": measurements().source,
        "objects": estimate.objects,
        "policies": estimate.policies,
        "webhooks": [
            {"name": name, "policies": list(names)} for name, names in estimate.webhooks.items()
        ],
        "kinds": [
            {
                "kind": load.kind,
                "made": load.made,
                "measured": load.is_measured,
                "objects": load.objects,
                "reviews": _by_operation(load.reviews.by_operation),
                "reports": load.reports,
            }
            for load in estimate.kinds
        ],
        "reviews": {
            **_by_operation(estimate.reviews.by_operation),
            "aDay": round(estimate.reviews.a_day, 1),
        },
        "reports": _counted(estimate),
        "database": _measured(estimate.database),
        "memory": {**_measured(estimate.memory), "limit": estimate.settings.memory_limit},
        "settings": setting_rows,
        "advice": [
            {
                "severity": str(advice.severity),
                "key": advice.key,
                "message": advice.message,
                "values": advice.values or None,
            }
            for advice in estimate.advice
        ],
        "notes": list(estimate.notes),
    }


def _counted(estimate: Estimate) -> Body:
    reports = estimate.reports
    return {
        "count": reports.reports,
        "results": reports.results,
        "bytes": reports.size,
        "growth": round(estimate.growth),
        "passing": reports.passing,
        "filtered": reports.filtered,
        "revisions": reports.revisions,
        "ephemeral": reports.ephemeral,
    }


def _by_operation(numbers: Mapping[Operation, int]) -> Body:
    return {str(operation): number for operation, number in numbers.items()}


def _measured(value: Measured) -> Body:
    return {"bytes": round(value.value), "basis": value.basis}


def _markdown(estimate: Estimate) -> Iterator[Block]:
    yield Heading(_headline(estimate), 1)
    yield Table(_HEAD, [*_rows(estimate), _totals(estimate)])
    yield Table(_FIGURES, list(_figures(estimate)))
    if estimate.advice:
        cells = [
            (str(advice.severity), advice.key, advice.message, advice.values or "-")
            for advice in estimate.advice
        ]
        yield Table(("Severity", "Key", "What", "Values"), cells)
    if estimate.notes:
        yield Items(estimate.notes)


def _findings(estimate: Estimate) -> Iterator[Diagnostic]:
    for advice in estimate.advice:
        message = f"{advice.key}: {advice.message}"
        hint = advice.values or None
        yield Diagnostic(_RULE, advice.severity, message, None, hint)


@dataclass(frozen=True, slots=True)
class Report:
    """The report of one object. size: in bytes, as an API server stores it; is_passing: whether
    nothing fails; is_admitted: whether its admission leaves an ephemeral report."""

    results: int
    size: int
    is_passing: bool
    is_admitted: bool


@dataclass(slots=True)
class ReportWriter:
    """The reports that Kyverno writes; policies: by ID; facts: for the fields of their results."""

    settings: EngineSettings
    policies: Mapping[str, RunnablePolicy]
    facts: Mapping[str, PolicyFacts]
    _sizes: dict[tuple[str, str, Status, str], int] = field(default_factory=dict)

    def report(
        self, resource: Resource, results: Sequence[RuleResult], unsent: Sequence[Reason]
    ) -> Report | None:
        """Return the report of an object with its results, None if it has no report; unsent: why
        Kyverno is not sent the object."""
        is_filtered = any(reason.key == RESOURCE_FILTERS for reason in unsent)
        reported = list(filter(self._is_reported, results))
        admitted = [result for result in reported if not unsent and self._is_admitted(result)]
        asked = set(map(id, admitted))
        counted = [
            rule for rule in reported if id(rule) in asked or self._is_scanned(rule, is_filtered)
        ]
        if not counted:
            return None
        size = self._envelope(resource) + sum(map(self._size, counted)) + len(counted)
        passing = all(result.status in _SILENT for result in counted)
        return Report(len(counted), size, passing, bool(admitted))

    def _is_reported(self, result: RuleResult) -> bool:
        settings = self.settings
        if result.type not in settings.types or str(result.status) not in settings.results:
            return False
        body = self.policies[result.policy_id].policy.resource.body
        return _UNREPORTED not in mapping_at(body, "metadata", "labels")

    def _is_admitted(self, result: RuleResult) -> bool:
        policy = self.policies[result.policy_id]
        admits = policy.policy.admission and not policy.runs_in_api_server
        return admits and self.settings.admission_reports

    def _is_scanned(self, result: RuleResult, is_filtered: bool) -> bool:
        policy, settings = self.policies[result.policy_id], self.settings
        if not settings.background_scan or not policy.policy.background:
            return False
        if policy.runs_in_api_server and not settings.api_server_policies:
            return False
        seen = settings.skip_resource_filters or not is_filtered
        return seen and result.type in _SCANNED

    def _size(self, result: RuleResult) -> int:
        """Return the size of a result in its report."""
        key = (result.policy_id, result.rule, result.status, result.message)
        size = self._sizes.get(key)
        if size is None:
            facts = self.facts.get(result.policy_id)
            body: Body = {
                "source": self.policies[result.policy_id].source,
                "policy": result.policy,
                "rule": result.rule,
                "result": str(result.status),
                "message": result.message,
                "scored": True,
                "timestamp": {"seconds": 1_700_000_000, "nanos": 0},
                "properties": {"process": "background scan", **result.properties},
            }
            if facts is not None:
                body |= {"severity": facts.severity, "category": facts.category}
            size = self._sizes[key] = _bytes(body)
        return size

    @staticmethod
    def _envelope(resource: Resource) -> int:
        """Return the size of a report without its results."""
        owner = {"apiVersion": resource.api_version, "kind": resource.kind, "name": resource.name}
        managed = {
            "manager": "reports-controller",
            "operation": "Update",
            "apiVersion": "wgpolicyk8s.io/v1alpha2",
            "time": _TIME,
            "fieldsType": "FieldsV1",
            "fieldsV1": {f"f:{field}": {".": {}} for field in _FIELDS},
        }
        metadata = {
            "name": _UID,
            "namespace": resource.namespace,
            "uid": _UID,
            "resourceVersion": "10000000",
            "generation": 1,
            "creationTimestamp": _TIME,
            "labels": {"app.kubernetes.io/managed-by": "kyverno"},
            "ownerReferences": [{**owner, "uid": _UID}],
            "managedFields": [managed],
        }
        return _bytes(
            {
                "apiVersion": "wgpolicyk8s.io/v1alpha2",
                "kind": "PolicyReport",
                "metadata": metadata,
                "scope": {**owner, "uid": _UID, "namespace": resource.namespace},
                "summary": dict.fromkeys(("pass", "fail", "warn", "error", "skip"), 0),
                "results": [],
            }
        )


def _bytes(body: Body) -> int:
    return len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))
