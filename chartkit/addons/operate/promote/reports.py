"""The results of Kyverno's reports as evidence: from files, a cluster or policy-reporter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from chartkit.addons.operate.promote.caveats import asks_for_objects_alone
from chartkit.addons.operate.promote.evidence import Judge, Labels, Passed
from chartkit.addons.operate.promote.model import Candidate, ObjectName, Violation
from chartkit.model import Body, Json, Resource, mapping_at, mappings_at, text_of
from chartkit.network.cluster.reader import Reader

KINDS: Final = frozenset(
    (
        ("wgpolicyk8s.io", "PolicyReport"),
        ("wgpolicyk8s.io", "ClusterPolicyReport"),
        ("openreports.io", "Report"),
        ("openreports.io", "ClusterReport"),
    )
)
_BLOCKING: Final = frozenset(("fail", "warn"))
_DECIDED: Final = frozenset(("pass", "skip"))


def is_report(resource: Resource) -> bool:
    """Return whether an object is a report about policies."""
    return (resource.api_version.partition("/")[0], resource.kind) in KINDS


@dataclass(frozen=True, slots=True)
class ReportedResult:
    """A result as reports have it; source: of the report, such as `kyverno`, may be empty; moment:
    None where no time is given."""

    policy: str
    rule: str
    status: str
    message: str
    subject: ObjectName
    api_version: str
    moment: datetime | None = None
    source: str = ""

    @property
    def resource(self) -> Resource:
        """The object, as far as it is known."""
        kind, namespace, name = self.subject.kind, self.subject.namespace, self.subject.name
        metadata: Body = {"name": name} | ({"namespace": namespace} if namespace else {})
        return Resource({"apiVersion": self.api_version, "kind": kind, "metadata": metadata})


def results_of(report: Body) -> Iterator[ReportedResult]:
    """Yield the results of a report."""
    scope = mapping_at(report, "scope")
    source = text_of(report.get("source"))
    for result in mappings_at(report, "results"):
        for subject in mappings_at(result, "resources") or [scope]:
            yield ReportedResult(
                text_of(result.get("policy")),
                text_of(result.get("rule")),
                text_of(result.get("result")),
                text_of(result.get("message")),
                ObjectName(*(text_of(subject.get(key)) for key in ("kind", "namespace", "name"))),
                text_of(subject.get("apiVersion")),
                moment_of(mapping_at(result, "timestamp").get("seconds")),
                text_of(result.get("source")) or source,
            )


def moment_of(seconds: Json) -> datetime | None:
    """Return a time in seconds since 1970; None for what is no such time."""
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 0:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def cluster_reports(reader: Reader) -> Iterator[ReportedResult]:
    """Yield the results of a cluster's reports; of a kind with several versions the first one
    counts."""
    seen: set[tuple[str, str]] = set()
    for served in reader.discovery.all:
        kind = (served.kind.group, served.kind.kind)
        if kind in KINDS and kind not in seen:
            seen.add(kind)
            for report in reader.objects(served):
                yield from results_of(report.body)


@dataclass(slots=True)
class ReportJudge:
    """Adds results of reports to the evidence of candidates.

    labels: of the namespaces of the cluster that reports are of, as far as they are known; passed:
    what the engine found of its objects after the reports were written.
    """

    judge: Judge
    labels: Labels = field(default_factory=dict)
    passed: frozenset[Passed] = frozenset()

    def add(self, source: str, results: Iterable[ReportedResult]) -> int:
        """Add the results of one source; return how many were of candidates."""
        by_key = {
            key: each
            for each in self.judge.candidates
            for one in each.compiled
            for key in (one.policy.key, one.policy.name)
        }
        count = 0
        for result in results:
            candidate = by_key.get(result.policy)
            if candidate is not None and self.judge.scope.has(result.subject.namespace):
                count += 1
                self._count(candidate, source, result)
        return count

    def _count(self, candidate: Candidate, source: str, result: ReportedResult) -> None:
        evidence, subject = candidate.evidence, result.subject
        evidence.reported[result.status] += 1
        if result.moment is not None:
            evidence.add_time(result.moment)
        if self.judge.is_unsent(candidate, result.resource, self.labels):
            evidence.unsent.add(subject)
        elif result.status in _DECIDED:
            evidence.judged.setdefault(source, set()).add(subject)
        elif self._is_outdated(candidate, result):
            evidence.outdated += 1
        elif result.status in _BLOCKING or result.status == "error":
            found = Violation(subject, result.rule, result.message, source, "", result.resource)
            blocking = result.status in _BLOCKING
            (evidence.blocked if blocking else evidence.undecided).append(found)

    def _is_outdated(self, candidate: Candidate, result: ReportedResult) -> bool:
        """Return whether the object passes by now, which it alone decides."""
        passes = (candidate.name, result.subject, result.rule) in self.passed
        return passes and asks_for_objects_alone(candidate)
