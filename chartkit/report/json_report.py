"""The report for programs: one JSON object with every result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from chartkit.model import Resource, RuleResult, Status
from chartkit.report.model import ReportOptions, summary


class JsonWriter:
    """`{"summary": {…}, "results": [{policy, rule, resource, result, message, …}]}`.

    `resource` is `apiVersion/kind/namespace/name`; cluster-wide objects have no namespace there,
    and what is no Kubernetes object has nothing at all.
    """

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        self._rows: list[dict[str, Any]] = []

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Takes one resource's results."""
        identity = "/".join(
            (resource.api_version, resource.kind, resource.namespace, resource.name)
        )
        identity = identity if resource.kind else ""
        location = str(resource.location)
        for result in results:
            facts = self._options.facts(result)
            row: dict[str, Any] = {
                "policy": result.policy,
                "rule": result.rule,
                "resource": identity,
                "result": str(result.status),
                "message": result.message,
                "action": self._options.action(resource, result),
                "severity": facts.severity,
                "category": facts.category,
                "location": location,
            }
            if result.properties:
                row["properties"] = dict(result.properties)
            if result.generated:
                row["generated"] = list(result.generated)
            if result.updated:
                row["overwritten"] = list(result.updated)
            if result.unmade:
                row["notGenerated"] = result.unmade
            self._rows.append(row)

    def finish(self, counts: Counter[Status]) -> str:
        """The report, ending with a newline."""
        report = {"summary": summary(counts), "results": self._rows}
        return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
