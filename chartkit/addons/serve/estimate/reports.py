"""The PolicyReports that Kyverno writes for objects: one for each, with the results that count."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.serve.estimate.kyverno_settings import EngineSettings
from chartkit.engine import Reason, RunnablePolicy
from chartkit.engine.configuration import RESOURCE_FILTERS
from chartkit.model import Body, Resource, RuleResult, RuleType, Status, mapping_at
from chartkit.report import PolicyFacts

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
    """Tells which reports Kyverno writes; policies: by ID; facts: of policies, for the fields of
    their results."""

    settings: EngineSettings
    policies: Mapping[str, RunnablePolicy]
    facts: Mapping[str, PolicyFacts]
    _sizes: dict[tuple[str, str, Status, str], int] = field(default_factory=dict)

    def report(
        self, resource: Resource, results: Sequence[RuleResult], unsent: Sequence[Reason]
    ) -> Report | None:
        """Return the report of an object with its results, None for none; unsent: why Kyverno is
        not sent the object."""
        is_filtered = any(each.key == RESOURCE_FILTERS for each in unsent)
        reported = list(filter(self._is_reported, results))
        admitted = [each for each in reported if not unsent and self._is_admitted(each)]
        known = set(map(id, admitted))
        counted = [
            each for each in reported if id(each) in known or self._is_scanned(each, is_filtered)
        ]
        if not counted:
            return None
        size = self._envelope(resource) + sum(map(self._size, counted)) + len(counted)
        passing = all(each.status in _SILENT for each in counted)
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
        found = self._sizes.get(key)
        if found is None:
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
            found = self._sizes[key] = _bytes(body)
        return found

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
            "fieldsV1": {f"f:{each}": {".": {}} for each in _FIELDS},
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
