"""The load that policies put on a cluster: AdmissionReviews by operation, PolicyReports with their
size in etcd, and memory; counted by the engine, and calibrated by upstream's measurements.

Every object is judged once, with what controllers make of it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TextIO

from chartkit.addons.serve.estimate.advice import (
    APPS,
    BATCH,
    Cluster,
    advice_for,
    is_owned,
    kept_revisions,
    made_shapes,
    notes_for,
    runs_a_day,
    survey,
)
from chartkit.addons.serve.estimate.measurements import (
    OPERATIONS,
    RUN,
    Estimate,
    KindLoad,
    Lifecycle,
    Part,
    ReportLoad,
    Reviews,
    measurements,
)
from chartkit.addons.serve.estimate.report import ReportWriter
from chartkit.addons.serve.estimate.webhooks import (
    EngineSettings,
    Webhook,
    engine_settings,
    names_no_operation,
    webhooks,
)
from chartkit.engine import Operation, Reason, Request, RunnablePolicy, as_submitted
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.configuration import RESOURCE_FILTERS
from chartkit.engine.kubernetes.kinds import CustomNames, kind_of
from chartkit.errors import InputError
from chartkit.model import Resource, RuleResult
from chartkit.network.cluster.recording import is_recording
from chartkit.scan.cluster import Survey, open_cluster, served_names
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.inputs import Note
from chartkit.scan.policies import PolicySet
from chartkit.scan.requests import (
    RequestOptions,
    load_named_policies,
    load_requests,
    load_surroundings,
)
from chartkit.scan.run import ScanContext, run_scan
from chartkit.scan.user_inputs import load_user_inputs

_GROUPS: Final = {
    "Pod": "",
    "ConfigMap": "",
    "ReplicationController": "",
    "Deployment": APPS,
    "StatefulSet": APPS,
    "DaemonSet": APPS,
    "ReplicaSet": APPS,
    "Job": BATCH,
    "CronJob": BATCH,
}
"""The API group of each kind that has a lifecycle of its own."""
Unsent = Callable[[Resource], Sequence[Reason]]


def lifecycle_of(resource: Resource) -> Lifecycle:
    """Return the requests of operations on an object."""
    group, _, kind = kind_of(resource)
    return measurements().lifecycle(kind, is_own=_GROUPS.get(kind) == group)


@dataclass(slots=True)
class ReviewCounter:
    """Counts the AdmissionReviews that webhooks get; unsent: why Kyverno is not sent an object;
    request: makes the request for an object; by_kind: the reviews about objects of each kind, of
    all operations on all objects."""

    webhooks: Sequence[Webhook]
    unsent: Unsent
    request: Callable[[Resource], Request]
    names: CustomNames
    by_kind: Counter[str] = field(default_factory=Counter)

    def reviews(self, resource: Resource, pods: int) -> Reviews:
        """Return the reviews of creating, updating and deleting an object once, and its reviews a
        day; pods: how many it has."""
        lifecycle, reviews = lifecycle_of(resource), Reviews()
        subjects = {**made_shapes(resource), resource.kind: resource}
        sent: dict[tuple[str, Operation], int] = {}
        for operation in OPERATIONS:
            parts = lifecycle.operations.get(operation, ())
            counts = self._counts(parts, subjects, pods, sent)
            reviews.by_operation[operation] += counts.total()
            self.by_kind.update(counts)
        if RUN in lifecycle.operations:
            a_run = self._counts(lifecycle.operations[RUN], subjects, pods, sent).total()
            reviews.a_day = a_run * runs_a_day(resource)
        return reviews

    def _counts(
        self,
        parts: Sequence[Part],
        subjects: Mapping[str, Resource],
        pods: int,
        sent: dict[tuple[str, Operation], int],
    ) -> Counter[str]:
        """Return the reviews of requests by their kinds; sent: to how many webhooks."""
        totals: Counter[str] = Counter()
        for part in parts:
            subject = subjects.get(part.kind)
            if subject is None:
                continue
            key = (part.kind, part.operation)
            if key not in sent:
                resource = as_submitted(subject, custom=self.names)
                if any(reason.key != RESOURCE_FILTERS for reason in self.unsent(resource)):
                    sent[key] = 0
                else:
                    old = resource if part.operation is Operation.UPDATE else None
                    request = replace(
                        self.request(resource),
                        operation=part.operation,
                        old=old,
                        plural=self.names.plural(kind_of(resource)),
                    )
                    attributes = Attributes(request)
                    sent[key] = sum(webhook.is_sent(attributes) for webhook in self.webhooks)
            totals[part.kind] += sent[key] * part.requests(pods)
        return totals


@dataclass(frozen=True, slots=True)
class EstimateInput:
    """policies, objects: to count by; names: of custom kinds; is_live: whether the objects are a
    cluster's; environment: None for policies that the user names; nodes: of the cluster, None for
    those among the objects."""

    policies: PolicySet
    objects: Sequence[Resource]
    context: ScanContext
    names: CustomNames
    is_live: bool
    environment: ProjectEnvironment | None
    nodes: int | None

    @property
    def running(self) -> list[RunnablePolicy]:
        """The policies that judge objects in a cluster."""
        return [policy for policy in self.policies.policies if not policy.judges_json]

    def unsent(self, resource: Resource) -> Sequence[Reason]:
        """Return the reasons why Kyverno is not sent an object."""
        if self.environment is None:
            return ()
        return self.environment.configuration.unsent_with_pods(resource, self.context.namespaces)


def estimate(given: EstimateInput) -> Estimate:
    """Return the load that policies put on a cluster with some objects."""
    settings = engine_settings(given.environment.engine if given.environment else ())
    cluster = survey(given.objects, given.nodes, given.is_live)
    # Kinds without a definition are there all the same, for selectors with wildcards.
    there = {kind: given.names.plural(kind) for kind in map(kind_of, given.objects)}
    names = given.names.joined(CustomNames({}, there))
    hooks = webhooks(given.running, names)
    counter, narrow = _counter(given, hooks), None
    if any(map(names_no_operation, given.running)):
        narrow = _counter(given, webhooks(given.running, names, only_writes=True))
    tally = _Tally(cluster, counter, narrow)
    _judge(given, settings, tally)
    measured_by, reports = measurements(), tally.reports
    measured = measured_by.etcd.slope * reports.reports
    growth = measured * max(1.0, reports.mean / measured_by.policies)
    database = measured_by.etcd.at(reports.reports)
    result = Estimate(
        environment=given.environment.name if given.environment else "",
        settings=settings,
        policies=len(given.running),
        objects=len(given.objects),
        kinds=tally.sorted_kinds(),
        reviews=tally.reviews,
        webhooks={webhook.name: webhook.policies for webhook in hooks},
        reports=reports,
        database=replace(database, value=database.value + growth - measured),
        memory=measured_by.memory.at(reports.reports),
        growth=growth,
        advice=(),
        notes=(),
    )
    advice = advice_for(result, given.running, tally.narrow_reviews, counter.by_kind)
    return replace(result, advice=tuple(advice), notes=tuple(notes_for(result, cluster)))


def _counter(given: EstimateInput, hooks: Sequence[Webhook]) -> ReviewCounter:
    admissions = given.context.admissions(given.running)
    return ReviewCounter(hooks, given.unsent, admissions.request, given.names)


@dataclass(slots=True)
class _Tally:
    """The sums over all objects. narrow: counts as if rules that name no operation named CREATE and
    UPDATE, None where all name them."""

    cluster: Cluster
    counter: ReviewCounter
    narrow: ReviewCounter | None
    kinds: dict[tuple[str, bool], KindLoad] = field(default_factory=dict)
    reviews: Reviews = field(default_factory=Reviews)
    narrow_reviews: Reviews | None = None
    reports: ReportLoad = field(default_factory=ReportLoad)

    def kind(self, resource: Resource, made: bool) -> KindLoad:
        """Return the sums of the objects of a kind."""
        key = (resource.kind, made)
        if key not in self.kinds:
            measured = lifecycle_of(resource).is_measured
            self.kinds[key] = KindLoad(resource.kind, made, measured)
        return self.kinds[key]

    def add_object(self, resource: Resource) -> None:
        """Count the requests about an object that no other one makes."""
        made = is_owned(resource)
        load = self.kind(resource, made)
        load.objects += 1
        if made:
            return
        pods = self.cluster.pods(resource)
        reviews = self.counter.reviews(resource, pods)
        for total in (load.reviews, self.reviews):
            _add(total, reviews)
        if self.narrow is not None:
            self.narrow_reviews = self.narrow_reviews or Reviews()
            _add(self.narrow_reviews, self.narrow.reviews(resource, pods))

    def sorted_kinds(self) -> list[KindLoad]:
        """Return the kinds, those with the most reviews and reports first."""
        loads = [kind for kind in self.kinds.values() if kind.reviews.total or kind.reports]
        return sorted(loads, key=lambda load: (-load.reviews.total, -load.reports, load.kind))


def _add(total: Reviews, more: Reviews) -> None:
    for operation in OPERATIONS:
        total.by_operation[operation] += more.by_operation[operation]
    total.a_day += more.a_day


def _judge(given: EstimateInput, settings: EngineSettings, tally: _Tally) -> None:
    """Judge each object, and what controllers make of it, and add up the reports."""
    policies = given.running
    facts = given.policies.facts(given.context.namespaces)
    writer = ReportWriter(settings, {policy.policy.id: policy for policy in policies}, facts)
    weights: deque[tuple[Resource, int, bool]] = deque()

    def objects() -> Iterator[Resource]:
        for owner in given.objects:
            tally.add_object(owner)
            weights.append((owner, 1, is_owned(owner)))
            yield owner
            for made, number in tally.cluster.made(owner):
                tally.kind(made, made=True).objects += number
                weights.append((made, number, True))
                yield made

    def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
        given_object, weight, made = weights.popleft()
        unsent = given.unsent(resource)
        report = writer.report(resource, results, unsent)
        if report is None:
            return
        total = tally.reports
        total.ephemeral += weight * report.is_admitted
        if not settings.writes_reports:
            return
        tally.kind(given_object, made).reports += weight
        total.reports += weight
        total.results += weight * report.results
        total.size += weight * report.size
        total.passing += weight * report.is_passing
        total.filtered += weight * any(reason.key == RESOURCE_FILTERS for reason in unsent)
        total.revisions += kept_revisions(given_object)

    run_scan(policies, objects(), sink, given.context)


@contextmanager
def open_input(
    options: RequestOptions,
    live: ClusterSource | None,
    environment: ProjectEnvironment | None,
    nodes: int | None,
    stdin: TextIO,
    note: Note,
) -> Iterator[tuple[EstimateInput, list[str]]]:
    """Yield the input of an estimate, with a line for everything that could not be read; live: the
    cluster to read, None for the paths. Raise InputError, and SourceError where a cluster does not
    answer."""
    recordings = [path for path in map(Path, options.inputs.paths) if is_recording(path)]
    if recordings and (len(options.inputs.paths) > 1 or live is not None):
        raise InputError("a recording is read alone", hint="leave the other PATHs out")
    if live is not None and options.inputs.paths:
        raise InputError("--cluster and PATH do not go together", hint="leave one of them out")
    if recordings:
        live = ClusterSource(recording=recordings[0], namespace=options.inputs.only_namespace)
    if live is None:
        requests = load_requests(options, stdin, note, environment=environment)
        context = requests.context(requests.world())
        policies, objects = requests.policies, requests.objects
        yield (
            EstimateInput(policies, objects, context, requests.names, False, environment, nodes),
            [],
        )
        return
    with open_cluster(live) as reader:
        survey = Survey(reader, load_surroundings(options, note))
        if environment is not None:
            policies = environment.policies(survey.around)
        else:
            policies = load_named_policies(options, survey.around)
        for diagnostic in (*survey.diagnostics, *policies.diagnostics, *policies.remarks):
            note(diagnostic)
        context = survey.context(policies, load_user_inputs(options.world, note))
        running = [policy for policy in policies.policies if not policy.judges_json]
        objects = list(survey.objects(running))
        names = served_names(reader)
        estimate_input = EstimateInput(policies, objects, context, names, True, environment, nodes)
        yield estimate_input, list(survey.unread())
