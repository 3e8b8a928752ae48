"""The sources of evidence, read one by one: workloads, manifests, clusters and reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO
from itertools import filterfalse
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode, urlsplit

from chartkit.addons.operate.promote.decision import Judge, Labels, Passed, asks_for_objects_alone
from chartkit.addons.operate.promote.model import ObjectName, PromoteOptions, Violation
from chartkit.documents.json_text import parse_json
from chartkit.documents.unread import UNREADABLE, is_unread, unread_at
from chartkit.engine import NO_ATTACHMENTS
from chartkit.engine.ports.services import ServiceCall
from chartkit.engine.ports.world import ServiceSource
from chartkit.errors import InputError, LookupFailed
from chartkit.model import (
    Body,
    Diagnostic,
    Json,
    Location,
    Resource,
    mapping_at,
    mappings_at,
    text_of,
)
from chartkit.network.cluster.reader import Reader
from chartkit.network.cluster.recording import is_recording
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.checks.engine import read_workload
from chartkit.scan.cluster import Survey, open_cluster
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.inputs import ChartOptions, existing, matching, read_inputs
from chartkit.scan.policies import PolicySet

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
_PAGE: Final = 500
_MOST: Final = 2_000
"""The most pages that are read of one policy: a million results."""
_PATHS: Final = ("v1/namespaced-resources/results", "v1/cluster-resources/results")


def is_report(resource: Resource) -> bool:
    """Report whether an object is a report about policies."""
    return (resource.api_version.partition("/")[0], resource.kind) in KINDS


@dataclass(frozen=True, slots=True)
class ReportedResult:
    """A result as reports have it; moment: None where no time is given."""

    policy: str
    rule: str
    status: str
    message: str
    subject: ObjectName
    api_version: str
    moment: datetime | None = None

    @property
    def resource(self) -> Resource:
        """The object, as far as it is known."""
        kind, namespace, name = self.subject.kind, self.subject.namespace, self.subject.name
        metadata: Body = {"name": name} | ({"namespace": namespace} if namespace else {})
        return Resource({"apiVersion": self.api_version, "kind": kind, "metadata": metadata})


def results_of(report: Body) -> Iterator[ReportedResult]:
    scope = mapping_at(report, "scope")
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
    """The results of a cluster's reports; of a kind with several versions the first one counts."""
    seen: set[tuple[str, str]] = set()
    for served in reader.discovery.all:
        kind = (served.kind.group, served.kind.kind)
        if kind in KINDS and kind not in seen:
            seen.add(kind)
            for report in reader.objects(served):
                yield from results_of(report.body)


def reporter_results(
    url: str, policies: Sequence[str], services: ServiceSource
) -> Iterator[ReportedResult]:
    """Yield the results of policies; raise InputError where policy-reporter answers otherwise."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"'{url}' is not a URL of policy-reporter", hint="http://HOST:PORT")
    for path in _PATHS:
        for policy in policies:
            yield from _results(f"{url.rstrip('/')}/{path}", policy, services)


def permission(url: str) -> str:
    """Return the hint that lets chartkit call policy-reporter at a URL."""
    return f"--allow-network {urlsplit(url).netloc} lets chartkit call it"


def _results(url: str, policy: str, services: ServiceSource) -> Iterator[ReportedResult]:
    for page in range(1, _MOST + 1):
        query = urlencode({"policies": policy, "page": page, "offset": _PAGE})
        body = _asked(f"{url}?{query}", services)
        items = mappings_at(body, "items")
        yield from map(_result, items)
        count = body.get("count")
        if len(items) < _PAGE or (isinstance(count, int) and page * _PAGE >= count):
            return


def _asked(url: str, services: ServiceSource) -> Body:
    try:
        answer = services.ask(ServiceCall("GET", url, tries=2))
    except LookupFailed as error:
        hint = error.hint or permission(url)
        raise InputError(f"policy-reporter does not answer: {error.message}", hint=hint) from None
    body: Json = None
    if answer.is_success:
        try:
            body = parse_json(answer.body)
        except ValueError:
            body = None
    if not isinstance(body, dict) or not isinstance(body.get("items"), list):
        message = f"{url} is not answered as policy-reporter does ({answer.status})"
        raise InputError(message, hint="its API needs rest.enabled of its chart")
    return body


def _result(item: Body) -> ReportedResult:
    names = ("policy", "rule", "status", "message", "apiVersion", "kind", "namespace", "name")
    policy, rule, status, message, api_version, *subject = (
        str(item.get(name) or "") for name in names
    )
    moment = moment_of(item.get("timestamp"))
    return ReportedResult(policy, rule, status, message, ObjectName(*subject), api_version, moment)


@dataclass(slots=True)
class EvidenceReader:
    """The sources of evidence, read one by one; sources: how many objects or results each has;
    unread: a row for each input that cannot be read."""

    judge: Judge
    policies: PolicySet
    options: PromoteOptions
    notes: list[str]
    sources: dict[str, int] = field(default_factory=dict)
    unread: list[Diagnostic] = field(default_factory=list)

    def workloads(self, project: Project, environment: Environment) -> None:
        """Judge the workloads that chartkit.yaml names."""
        for workload in environment.workloads:
            resources, rows = read_workload(project, workload, environment.kube_version)
            self.unread += filter(is_unread, rows)
            self._objects(f"workloads {workload.path.as_posix()}", list(resources))

    def given(self) -> None:
        """Judge the manifests, charts, recordings and reports that options name."""
        for path in matching(self.options.evidence):
            if is_recording(existing(Path(path))):
                self._cluster(f"cluster {path}", ClusterSource(recording=Path(path)))
                continue
            notes: list[Diagnostic] = []
            try:
                resources = read_inputs([path], StringIO(), notes.append, ChartOptions())
            except UNREADABLE as error:
                self.unread.append(unread_at(Location(path), error))
                continue
            self.unread += filter(is_unread, notes)
            self.notes += map(str, filterfalse(is_unread, notes))
            reports = [resource for resource in resources if is_report(resource)]
            if reports:
                results = (result for resource in reports for result in results_of(resource.body))
                self._reported(f"reports {path}", results)
            if len(reports) < len(resources):
                self._objects(path, [resource for resource in resources if not is_report(resource)])

    def live(self) -> None:
        """Judge the live cluster and ask policy-reporter, where options say so."""
        if self.options.cluster:
            self._cluster("cluster", ClusterSource(self.options.context))
        if self.options.reporter is not None:
            from chartkit.network.http.connections import read_hosts
            from chartkit.network.services import Services

            services = Services(read_hosts(self.options.allowed_hosts))
            names = [form.policy.name for item in self.judge.candidates for form in item.compiled]
            results = reporter_results(self.options.reporter, list(dict.fromkeys(names)), services)
            self._reported("policy-reporter", results)

    def _objects(self, source: str, objects: list[Resource]) -> None:
        self.sources[source] = self.sources.get(source, 0) + len(objects)
        self.judge.files(source, objects, self.policies)

    def _cluster(self, source: str, cluster: ClusterSource) -> None:
        with open_cluster(cluster) as reader:
            survey = Survey(reader, NO_ATTACHMENTS)
            passed = self.judge.cluster(source, survey)
            self.sources[source] = len(
                {name for candidate in self.judge.candidates for name in candidate.evidence.objects}
            )
            reported = cluster_reports(reader)
            self._reported(f"reports of {source}", reported, survey.namespaces, passed)
            self.notes += (f"{source}: {line}" for line in survey.unread())

    def _reported(
        self,
        source: str,
        results: Iterable[ReportedResult],
        labels: Labels = MappingProxyType({}),
        passed: frozenset[Passed] = frozenset(),
    ) -> None:
        """Add the results of reports to the evidence of candidates. labels: of the namespaces of
        the cluster that reports are of, as far as they are known; passed: what the engine found of
        its objects after the reports were written."""
        by_key = {
            key: candidate
            for candidate in self.judge.candidates
            for policy in candidate.compiled
            for key in (policy.policy.key, policy.policy.name)
        }
        count = 0
        for result in results:
            candidate, subject = by_key.get(result.policy), result.subject
            if candidate is None or not self.judge.has(subject.namespace):
                continue
            count += 1
            evidence = candidate.evidence
            evidence.reported[result.status] += 1
            if result.moment is not None:
                evidence.add_time(result.moment)
            passes = (candidate.name, subject, result.rule) in passed
            if self.judge.is_unsent(candidate, result.resource, labels):
                evidence.unsent.add(subject)
            elif result.status in _DECIDED:
                evidence.judged.setdefault(source, set()).add(subject)
            elif passes and asks_for_objects_alone(candidate):
                # The object passes by now, which it alone decides.
                evidence.outdated += 1
            elif result.status in _BLOCKING or result.status == "error":
                hits = evidence.blocked if result.status in _BLOCKING else evidence.undecided
                rule, text, resource = result.rule, result.message, result.resource
                hits.append(Violation(subject, rule, text, source, "", resource))
        if count:
            self.sources[source] = count
