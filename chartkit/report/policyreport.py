"""PolicyReports (wgpolicyk8s.io/v1alpha2) and Reports (openreports.io/v1alpha1): one a namespace,
and one for the cluster.

The fields are those of the two APIs; results name their source as the reports that Kyverno's own
controller writes: `kyverno`, `KyvernoValidatingPolicy` and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from chartkit.model import Resource, RuleResult, Status
from chartkit.report.model import KYVERNO, ReportOptions, summary
from chartkit.yaml_dump import dump_documents


@dataclass(frozen=True, slots=True)
class ReportApi:
    """One API for reports: its version, the kinds of reports of a namespace and of the cluster,
    and whether a report names its source."""

    version: str
    namespaced: str
    cluster: str
    has_source: bool


WGPOLICY: Final = ReportApi(
    "wgpolicyk8s.io/v1alpha2", "PolicyReport", "ClusterPolicyReport", has_source=False
)
OPENREPORTS: Final = ReportApi(
    "openreports.io/v1alpha1", "Report", "ClusterReport", has_source=True
)


class PolicyReportWriter:
    """A stream of YAML documents, sorted by namespace; the cluster's report comes first."""

    def __init__(self, options: ReportOptions, api: ReportApi = WGPOLICY) -> None:
        self._options = options
        self._api = api
        self._results: dict[str, list[dict[str, Any]]] = {}
        self._counts: dict[str, Counter[Status]] = {}

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Takes one resource's results."""
        if not results:
            return
        rows = self._results.setdefault(resource.namespace, [])
        rows.extend(self._row(resource, result) for result in results)
        counts = self._counts.setdefault(resource.namespace, Counter())
        counts.update(result.status for result in results)

    def finish(self, counts: Counter[Status]) -> str:  # noqa: ARG002 - each report counts its own
        """The reports, ending with a newline."""
        reports = [self._report(namespace) for namespace in sorted(self._results)]
        return dump_documents(reports) if reports else "# no results\n"

    def _report(self, namespace: str) -> dict[str, Any]:
        metadata = {"name": "chartkit"}
        if namespace:
            metadata["namespace"] = namespace
        api = self._api
        return {
            "apiVersion": api.version,
            "kind": api.namespaced if namespace else api.cluster,
            "metadata": metadata,
            **({"source": KYVERNO} if api.has_source else {}),
            "summary": summary(self._counts[namespace]),
            "results": self._results[namespace],
        }

    def _row(self, resource: Resource, result: RuleResult) -> dict[str, Any]:
        facts = self._options.facts(result)
        subject = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": resource.name,
            "namespace": resource.namespace,
        }
        named = {key: value for key, value in subject.items() if value}
        row: dict[str, Any] = {
            "source": facts.source,
            "policy": result.policy,
            **({"rule": result.rule} if result.rule else {}),
            "result": str(result.status),
            "message": result.message,
            "scored": facts.scored,
            **({"resources": [named]} if named else {}),
            "timestamp": {"seconds": int(self._options.now.timestamp()), "nanos": 0},
        }
        optional = {"severity": facts.severity, "category": facts.category}
        row |= {key: value for key, value in optional.items() if value}
        if result.properties:
            row["properties"] = dict(result.properties)
        return row
