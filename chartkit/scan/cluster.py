"""A scan of a cluster: what is read of it, what is reported at the end, and how its own policy
reports compare."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from chartkit.engine import OFFLINE, PolicyAttachments, RunnablePolicy, World
from chartkit.engine.cluster_policy.policy_check.warnings import deprecations
from chartkit.engine.kubernetes.kinds import CustomNames, GroupVersionKind, is_custom
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    Diagnostic,
    Resource,
    RuleResult,
    RuleType,
    Status,
    Track,
    mapping_at,
    mappings_at,
    text_of,
    untracked,
)
from chartkit.network.cluster.reader import (
    ApiResource,
    Reader,
    entries_there,
    exceptions_there,
    joined,
    kinds_to_read,
    policies_there,
)
from chartkit.network.cluster.recording import RecordedSource, recorder, services_of
from chartkit.network.cluster.source import Source
from chartkit.network.cluster.world import live_world
from chartkit.report import ReportOptions
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.options import ClusterOptions
from chartkit.scan.policies import PolicySet, compile_all
from chartkit.scan.reporting import Reporting, ScanReport, require_policies
from chartkit.scan.requests import (
    RequestOptions,
    Requests,
    custom_resources,
    load_named_policies,
    load_surroundings,
    read_definitions,
)
from chartkit.scan.run import ScanContext, namespace_labels, namespaces_among, run_scan
from chartkit.scan.user_inputs import UserInputs, load_user_inputs
from chartkit.scan.verdicts import ReportedForms
from chartkit.wording import abridged, counted

_KINDS: Final = (
    ("wgpolicyk8s.io", "PolicyReport"),
    ("wgpolicyk8s.io", "ClusterPolicyReport"),
    ("openreports.io", "Report"),
    ("openreports.io", "ClusterReport"),
)
_REPORTED: Final = (RuleType.VALIDATION, RuleType.IMAGE_VERIFY)
"""The rule types that Kyverno's background scan reports."""
_NONE: Final = "none"
_SHOWN: Final = 5


@contextlib.contextmanager
def open_cluster(source: ClusterSource) -> Iterator[Reader]:
    """Open a cluster to read. A recording is written when this ends without an error. Raise
    InputError for a kubeconfig, recording or namespace that cannot be used, and SourceError where
    the cluster does not answer."""
    source_, namespace = answers(source)
    if source.record is None:
        yield Reader(source_, namespace)
        return
    with recorder(source_, source.record, namespace) as recording:
        yield Reader(recording, namespace)


def answers(source: ClusterSource) -> tuple[Source, str]:
    """Return the source of answers for a cluster, and the namespace to read, empty for all."""
    if source.recording is not None:
        recorded = RecordedSource(source.recording)
        return recorded, source.namespace or recorded.namespace
    from chartkit.network.cluster.client import connect
    from chartkit.network.cluster.live import LiveSource

    return LiveSource(connect(source.context)), source.namespace


class Survey:
    """A cluster's policy exceptions, global context entries and namespaces."""

    def __init__(self, reader: Reader, given: PolicyAttachments) -> None:
        """given: attachments that the user names in addition to the cluster's."""
        self.reader = reader
        there, wrong = exceptions_there(reader)
        self.around = joined(given, there)
        self._entries, wrong_too = entries_there(reader)
        self.diagnostics: tuple[Diagnostic, ...] = (*wrong, *wrong_too)
        resources = [Resource(body) for body in reader.namespaces.values()]
        self.namespace_objects: Mapping[str, Body] = namespaces_among(resources)

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of each namespace."""
        return namespace_labels(self.namespace_objects)

    def policies(self) -> list[Resource]:
        """Return the policies that are installed."""
        return policies_there(self.reader)

    def world(self, inputs: UserInputs) -> World:
        """Return the cluster as policies see it, below the user's inputs."""
        services = services_of(self.reader.source, inputs.services)
        given = replace(inputs.given, services=services or OFFLINE.services)
        return live_world(self.reader, given, self._entries)

    def context(self, policies: PolicySet, inputs: UserInputs | None = None) -> ScanContext:
        """Return the settings for policies that judge the objects of the cluster."""
        given = UserInputs() if inputs is None else inputs
        requests = Requests(policies, (), self.namespace_objects, given)
        context = requests.context(self.world(given))
        return replace(context, plural_of=self.reader.discovery.plural)

    def objects(
        self,
        policies: Sequence[RunnablePolicy],
        kinds: Container[GroupVersionKind] = (),
        track: Track = untracked,
    ) -> Iterator[Resource]:
        """Yield the objects of the kinds that policies match, and of others, as they are read;
        track: shows how many kinds are. Raise SourceError once the cluster does not answer, be it a
        policy or the scan itself."""
        read = kinds_to_read(policies, self.reader.discovery)
        others = (served for served in self.reader.discovery.all if served.kind in kinds)
        for served in track(list(dict.fromkeys((*read, *others)))):
            for resource in self.reader.objects(served):
                yield resource
                if self.reader.source.fault is not None:
                    raise self.reader.source.fault

    def unread(self) -> Iterator[str]:
        """Yield a line for everything that could not be read."""
        for what, reason in self.reader.unread.items():
            yield f"not read: {what}: {reason}"


def scan_cluster(
    options: RequestOptions,
    cluster: ClusterOptions,
    reader: Reader,
    reporting: Reporting,
    audit_warn: bool,
) -> int:
    """Scan a cluster and write the reports. Return the exit code: 1 where anything fails, is in
    error or could not be read. Raise InputError and SourceError."""
    console = reporting.console
    inputs = load_user_inputs(options.world, console.note)
    if inputs.chart_values:
        raise InputError("-f is for charts, and a cluster has none: name Kyverno's values")
    around = load_surroundings(options, console.note)
    survey = Survey(reader, replace(around, names=served_names(reader)))
    policies = _load_policies(options, cluster, survey)
    for diagnostic in (*survey.diagnostics, *policies.diagnostics, *policies.remarks):
        console.note(diagnostic)
    custom = custom_resources(read_definitions(options, console.note), (), console.note)
    for kind in custom.definitions.kinds if custom is not None else ():
        if reader.discovery.of_kind(f"{kind.group}/{kind.version}", kind.kind) is None:
            named = f"{kind.group}/{kind.version} {kind.kind}"
            line = f"not judged: {named}: the cluster does not serve it"
            console.stderr(line)
    requests = Requests(policies, (), survey.namespace_objects, inputs, custom)
    require_policies(policies, console)
    report = ScanReport(reporting, requests)
    completion = requests.completion()
    compares = cluster.compares_reports
    comparison = Comparison(survey.reader, report.options) if compares else None

    def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
        report.add(resource, completion(resource, results))
        if comparison is not None:
            comparison.add(resource, results)

    context = replace(
        requests.context(survey.world(requests.inputs)),
        audit_warn=audit_warn,
        plural_of=reader.discovery.plural,
    )
    kinds = {} if requests.custom is None else requests.custom.definitions.kinds
    objects = filter(report.looks_at, survey.objects(report.running, kinds))
    run_scan(report.running, objects, sink, report.timed(context))
    unread = list(survey.unread())
    for line in unread:
        console.stderr(line)
    differs = comparison is not None and comparison.differs
    broken = bool(policies.diagnostics or survey.diagnostics or unread)
    broken = broken or (differs and cluster.fail_on_differences)
    return report.finish(broken, () if comparison is None else comparison.lines())


def served_names(reader: Reader) -> CustomNames:
    """Return the scopes and plurals of the custom kinds that a cluster serves."""
    custom = [resource for resource in reader.discovery.all if is_custom(resource.kind)]
    return CustomNames(
        {(resource.kind.group, resource.kind.kind): resource.namespaced for resource in custom},
        {resource.kind: resource.plural for resource in custom},
    )


def _load_policies(options: RequestOptions, cluster: ClusterOptions, survey: Survey) -> PolicySet:
    """Load the policies that are installed, if they are to be used, and those that are named."""
    if not cluster.cluster_policies:
        return load_named_policies(options, survey.around)
    policies = survey.policies()
    is_named = bool(options.policies.named_policies)
    if not policies and not is_named:
        raise InputError("the cluster has no policy that can be read", hint="-p names others")
    outdated = tuple(deprecations(policies))
    installed = replace(compile_all(policies, survey.around), deprecations=outdated)
    if not is_named:
        if options.policies.parameters:
            message = "--param sets nothing: the cluster's policies have no parameters"
            raise InputError(message, hint="-p names a profile or policies of a library")
        return installed
    named = load_named_policies(options, survey.around)
    return replace(
        installed,
        policies=named.policies + installed.policies,
        diagnostics=named.diagnostics + installed.diagnostics,
        cleanup=named.cleanup + installed.cleanup,
        notes=named.notes,
        deprecations=named.deprecations + installed.deprecations,
    )


class _Object(NamedTuple):
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, self))


class _RuleKey(NamedTuple):
    """A rule as reports identify it; source: `kyverno`, `KyvernoValidatingPolicy` …"""

    source: str
    policy: str
    rule: str


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """One result that differs; `none` for a side without a result."""

    policy: str
    rule: str
    resource: str
    theirs: str
    ours: str

    def __str__(self) -> str:
        rule = f"{self.policy}/{self.rule}" if self.rule else self.policy
        return f"{rule}  {self.resource}  theirs: {self.theirs}  ours: {self.ours}"


class Comparison:
    """A comparison that reads the cluster's reports first, then takes chartkit's results.

    It compares objects that both sides report, for policies that both know. What only one side has
    is counted: Kyverno does not report what its `resourceFilters` exclude, nor what it has not
    scanned yet.
    """

    def __init__(self, reader: Reader, options: ReportOptions) -> None:
        """options: they carry the facts of the policies that chartkit runs."""
        self._options = options
        self._known = {(facts.source, facts.name) for facts in options.policies.values()}
        self._reported: set[tuple[str, str]] = set()
        self._theirs: dict[_Object, dict[_RuleKey, str]] = {}
        self._differences: list[Difference] = []
        self._forms = ReportedForms()
        self._equal = 0
        self._in_no_report = 0
        # Each kind of reports in the version that the server prefers.
        preferred: dict[tuple[str, str], ApiResource] = {}
        for served in reader.discovery.all:
            group, _, kind = served.kind
            if (group, kind) in _KINDS:
                preferred.setdefault((group, kind), served)
        self._is_served = bool(preferred)
        for served in preferred.values():
            for report in reader.objects(served):
                self._take(report.body)

    @property
    def differences(self) -> list[Difference]:
        """The differences, by policy, rule and object."""
        return sorted(self._differences)

    @property
    def differs(self) -> bool:
        """Report whether a result differs, or what both forms of a policy reported."""
        return bool(self._differences) or self._forms.differ

    def _take(self, report: Body) -> None:
        scope = mapping_at(report, "scope")
        for result in mappings_at(report, "results"):
            source = text_of(result.get("source")) or text_of(report.get("source"))
            said = _RuleKey(source, text_of(result.get("policy")), text_of(result.get("rule")))
            status = text_of(result.get("result"))
            is_own = said[:2] in self._known
            if is_own:
                self._reported.add((said.source, said.policy))
            for subject in mappings_at(result, "resources") or [scope]:
                there = _Object(*(text_of(subject.get(key)) for key in _Object._fields))
                self._forms.add(source, said.policy, said.rule, str(there), status)
                if is_own:
                    self._theirs.setdefault(there, {})[said] = status

    def add(self, resource: Resource, results: Sequence[RuleResult]) -> None:
        """Add chartkit's results for one object."""
        own = _Object(resource.kind, resource.namespace, resource.name)
        theirs = self._theirs.pop(own, None)
        if theirs is None:
            self._in_no_report += bool(results)
            return
        for result in results:
            source = self._options.facts(result).source
            said = _RuleKey(source, result.policy, result.rule)
            status = theirs.pop(said, None)
            if status is not None:
                self._compare(said, own, status, str(result.status))
            elif (source, result.policy) in self._reported and _is_reported(result):
                self._compare(said, own, _NONE, str(result.status))
        for said, status in theirs.items():
            self._compare(said, own, status, _NONE)

    def _compare(self, said: _RuleKey, own: _Object, theirs: str, ours: str) -> None:
        if theirs == ours:
            self._equal += 1
        else:
            self._differences.append(Difference(said.policy, said.rule, str(own), theirs, ours))

    def lines(self) -> Iterator[str]:
        """Yield the comparison as text, with a line for each difference."""
        if not self._is_served:
            yield "reports: the cluster serves none"
            return
        differences = self.differences
        same = counted(self._equal, "result is", "results are")
        yield f"reports: {same} the same, {len(differences)} differ"
        yield from (f"  {difference}" for difference in differences)
        if self._in_no_report:
            yield f"  objects in no report: {self._in_no_report}"
        if self._theirs:
            yield f"  objects only in reports: {abridged(list(map(str, self._theirs)), _SHOWN)}"
        unnamed = sorted(policy for source, policy in self._known - self._reported)
        if unnamed:
            yield f"  policies that no report names: {abridged(unnamed, _SHOWN)}"
        yield from self._forms.lines()


def _is_reported(result: RuleResult) -> bool:
    """Report whether Kyverno's reports have a result; CEL policies have none for an object that a
    match condition excludes."""
    if result.kind and result.status is Status.SKIP and "exceptions" not in result.properties:
        return False
    return result.type in _REPORTED
