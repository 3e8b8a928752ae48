"""Advice: values that reduce a load, and the problems that it causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil
from typing import Final

from chartkit.addons.serve.estimate.measurements import (
    CREATE,
    MEBIBYTE,
    MEGABYTE,
    AdmissionLoad,
    Advice,
    Estimate,
    Reviews,
    measurements,
)
from chartkit.addons.serve.estimate.webhooks import matches_everything, names_no_operation
from chartkit.engine import RunnablePolicy
from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.scalars.cron import Schedule
from chartkit.model import Body, Json, Resource, Severity, mapping_at, mappings_at
from chartkit.wording import abridged

APPS: Final = "apps"
BATCH: Final = "batch"
MADE_KINDS: Final[Mapping[str, GroupVersionKind]] = {
    "Pod": GroupVersionKind("", "v1", "Pod"),
    "ReplicaSet": GroupVersionKind(APPS, "v1", "ReplicaSet"),
    "Job": GroupVersionKind(BATCH, "v1", "Job"),
}
"""The kinds that controllers make."""
_REPLICATED: Final = frozenset(
    (
        (APPS, "Deployment"),
        (APPS, "StatefulSet"),
        (APPS, "ReplicaSet"),
        ("", "ReplicationController"),
    )
)
_KEPT_JOBS: Final = 3
"""The completed Jobs that a CronJob keeps by default."""
_KEPT_REVISIONS: Final = 10
"""The older ReplicaSets that a Deployment keeps by default."""
_MONDAY: Final = date(2024, 1, 1)
_WEEK: Final = 7


@dataclass(frozen=True, slots=True)
class Cluster:
    """The facts that decide how many Pods there are.

    nodes: for DaemonSets; replicas: by autoscalers, by the kind, namespace and name of what they
    scale; is_live: whether the objects come from a cluster, which has its Pods and Jobs, but not
    always its ReplicaSets; has_replica_sets: whether they include ReplicaSets.
    """

    nodes: int
    replicas: Mapping[tuple[str, str, str], int]
    is_live: bool
    has_replica_sets: bool = False

    def pods(self, resource: Resource) -> int:
        """Return the number of Pods that an object has at a time, for a CronJob in one run."""
        group, _, kind = kind_of(resource)
        spec = mapping_at(resource.body, "spec")
        if (group, kind) == (APPS, "DaemonSet"):
            return self.nodes
        if (group, kind) in _REPLICATED:
            given = self.replicas.get((kind, resource.namespace, resource.name))
            return _count(spec.get("replicas"), 1) if given is None else given
        if group != BATCH:
            return 0
        job = mapping_at(spec, "jobTemplate", "spec") if kind == "CronJob" else spec
        return _count(job.get("completions"), _count(job.get("parallelism"), 1))

    def made(self, resource: Resource) -> Iterator[tuple[Resource, int]]:
        """Yield the objects that controllers make of one, each with its number; of a cluster those
        that are not among its objects."""
        shapes = made_shapes(resource)
        kept = 1
        if "Job" in shapes and resource.kind == "CronJob":
            given = mapping_at(resource.body, "spec").get("successfulJobsHistoryLimit")
            kept = 0 if _is_suspended(resource) else _count(given, _KEPT_JOBS)
        numbers = {"ReplicaSet": 1, "Job": kept, "Pod": kept * self.pods(resource)}
        for kind, shape in shapes.items():
            is_there = not self.has_replica_sets if kind == "ReplicaSet" else not self.is_live
            if is_there and numbers[kind]:
                yield shape, numbers[kind]


def made_shapes(resource: Resource) -> dict[str, Resource]:
    """Return an object's ReplicaSet, Job and Pod by kind, as controllers make them."""
    group, _, kind = kind_of(resource)
    spec = mapping_at(resource.body, "spec")
    shapes: dict[str, Resource] = {}
    if (group, kind) == (APPS, "Deployment"):
        shapes["ReplicaSet"] = _made(
            resource, "ReplicaSet", "-0", spec, mapping_at(spec, "template")
        )
    if (group, kind) == (BATCH, "CronJob"):
        job = mapping_at(spec, "jobTemplate")
        spec = mapping_at(job, "spec")
        shapes["Job"] = _made(resource, "Job", "-0", spec, job)
    template = mapping_at(spec, "template")
    if template and group in ("", APPS, BATCH):
        shapes["Pod"] = _made(resource, "Pod", "-0-0", mapping_at(template, "spec"), template)
    return shapes


def survey(objects: Iterable[Resource], nodes: int | None, is_live: bool) -> Cluster:
    """Return the facts that objects give about a cluster; nodes: how many it has, None to count the
    objects. Objects with owners come from a cluster, too."""
    counted, scaled = 0, dict[tuple[str, str, str], int]()
    has_replica_sets = False
    for resource in objects:
        kind = resource.kind
        counted += kind == "Node"
        if is_owned(resource):
            is_live = True
            has_replica_sets = has_replica_sets or kind == "ReplicaSet"
        if kind == "HorizontalPodAutoscaler":
            spec = mapping_at(resource.body, "spec")
            target = mapping_at(spec, "scaleTargetRef")
            key = (str(target.get("kind")), resource.namespace, str(target.get("name")))
            scaled[key] = _count(spec.get("minReplicas"), 1)
    return Cluster(nodes or counted or 1, scaled, is_live, has_replica_sets)


def is_owned(resource: Resource) -> bool:
    """Report whether a controller made an object: what happens to it is counted with its owner."""
    owners = mappings_at(resource.body, "metadata", "ownerReferences")
    return any(owner.get("controller") is True for owner in owners)


def kept_revisions(resource: Resource) -> int:
    """Return the older ReplicaSets that a Deployment may keep."""
    if kind_of(resource)[::2] != (APPS, "Deployment"):
        return 0
    given = mapping_at(resource.body, "spec").get("revisionHistoryLimit")
    return _count(given, _KEPT_REVISIONS)


def runs_a_day(resource: Resource) -> float:
    """Return a CronJob's runs a day, over a week; 0 if it is suspended or unreadable."""
    if _is_suspended(resource):
        return 0
    try:
        schedule = Schedule.parse(str(mapping_at(resource.body, "spec").get("schedule")))
    except ValueError:
        return 0
    return schedule.runs(_MONDAY, _WEEK) / _WEEK


def _is_suspended(resource: Resource) -> bool:
    return mapping_at(resource.body, "spec").get("suspend") is True


def _made(owner: Resource, kind: str, ending: str, spec: Body, template: Body) -> Resource:
    """Return an object that a controller makes; template: the one with its labels."""
    made = MADE_KINDS[kind]
    metadata = mapping_at(template, "metadata")
    own: Body = {"name": f"{owner.name}{ending}"}
    own |= {"namespace": owner.namespace} if owner.namespace else {}
    reference = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
    }
    own |= {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    body: Body = {
        "apiVersion": f"{made.group}/{made.version}" if made.group else made.version,
        "kind": kind,
        "metadata": {**own, "ownerReferences": [reference]},
        "spec": spec,
    }
    return Resource(body, owner.location)


def _count(value: Json, default: int) -> int:
    """Return a number of objects; the default for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return default


_HEADROOM: Final = 1.5
"""A memory limit as a multiple of what was measured: upstream's figures are the peak of one run."""
_STEP: Final = 64
_DATABASE: Final = 2_000 * MEGABYTE
"""The size at which etcd stops taking writes, if its quota was not raised."""
_MANY_REVIEWS: Final = 1_000
"""The fewest requests at once that upstream put to the admission controller."""
_CONTROLLERS: Final = "DaemonSet,Deployment,Job,ReplicationController,StatefulSet,CronJob"
_SHOWN: Final = 3


def advice_for(
    estimate: Estimate,
    policies: Sequence[RunnablePolicy],
    narrow: Reviews | None,
    by_kind: Mapping[str, int],
) -> list[Advice]:
    """Return the problems first, then the values that reduce the load; narrow: the reviews if all
    rules named CREATE and UPDATE; by_kind: the reviews about objects of each kind."""
    wrong = [*_reports_pile_up(estimate), *_resources(estimate)]
    less = [*_fewer_reviews(estimate, policies, narrow, by_kind), *_fewer_reports(estimate)]
    return sorted([*wrong, *less], key=lambda advice: advice.severity is not Severity.WARNING)


def _reports_pile_up(estimate: Estimate) -> Iterator[Advice]:
    settings, ephemeral = estimate.settings, estimate.reports.ephemeral
    if settings.admission_reports and not settings.writes_reports and ephemeral:
        message = (
            f"creating every object leaves {ephemeral:,} EphemeralReports, and nothing gathers "
            "them: they stay in etcd (kyverno/kyverno#8974, #10761)"
        )
        values = "features.admissionReports.enabled: false"
        yield Advice(Severity.WARNING, "features.admissionReports", message, values)
    elif settings.admission_reports and not settings.background_scan and ephemeral:
        message = (
            "without background scans reports come of admission alone; in Kyverno 1.17.2 the "
            "ephemeral ones were then not gathered, and stayed in etcd (kyverno/kyverno#17114)"
        )
        values = "features.backgroundScan.enabled: true"
        yield Advice(Severity.WARNING, "features.backgroundScan", message, values)
    if settings.admission_reports and ephemeral > settings.admission_limit:
        message = (
            f"creating every object at once leaves {ephemeral:,} EphemeralReports to gather, and "
            f"beyond {settings.admission_limit:,} no more are made: the rest is left to background "
            "scans"
        )
        key = "features.admissionReports.backPressureThreshold"
        yield Advice(Severity.NOTE, key, message)


def _resources(load: Estimate) -> Iterator[Advice]:
    settings, memory = load.settings, load.memory.value
    limit = settings.memory_limit
    if settings.writes_reports and limit is not None and memory * 1.1 > limit:
        wanted = ceil(memory * _HEADROOM / MEBIBYTE / _STEP) * _STEP
        message = (
            f"{memory / MEBIBYTE:.0f}Mi are needed for {load.reports.reports:,} reports, and the "
            f"limit is {limit / MEBIBYTE:.0f}Mi"
        )
        values = f"reportsController.resources.limits.memory: {wanted}Mi"
        yield Advice(Severity.WARNING, "reportsController.resources", message, values)
    if load.database.value > _DATABASE:
        message = (
            f"etcd takes no writes beyond its quota, {_DATABASE / MEGABYTE:,.0f} MB by default; "
            "Kyverno's reports-server keeps reports in a database of its own"
        )
        yield Advice(Severity.WARNING, "reports-server", message)
    requests = load.reviews.by_operation[CREATE]
    if settings.replicas < 3 and requests >= _MANY_REVIEWS:
        one, three = (_measured(load, requests, replicas) for replicas in (1, 3))
        message = (
            f"creating everything at once sends {requests:,} AdmissionReviews; upstream measured "
            f"{one.requests:,} under {one.policies} policies: {one.average:.0f} ms on average and "
            f"{one.millicores}m of processor with one replica, {three.average:.0f} ms and "
            f"{three.millicores}m each with three"
        )
        values = "admissionController.replicas: 3"
        yield Advice(Severity.NOTE, "admissionController.replicas", message, values)


def _measured(estimate: Estimate, requests: int, replicas: int) -> AdmissionLoad:
    """Return upstream's measurement that is nearest to a number of requests."""
    in_cel = all(not name.startswith(("validate.", "mutate.")) for name in estimate.webhooks)
    form = "ValidatingPolicy" if in_cel else "ClusterPolicy"
    rows = [
        load for load in measurements().admission if load.form == form and load.replicas == replicas
    ]
    return min(rows, key=lambda admission_load: abs(admission_load.requests - requests))


def _fewer_reviews(
    estimate: Estimate,
    policies: Sequence[RunnablePolicy],
    narrow: Reviews | None,
    by_kind: Mapping[str, int],
) -> Iterator[Advice]:
    wide = [policy.policy.key for policy in policies if matches_everything(policy)]
    if wide:
        message = (
            "Kyverno is asked about every object of the cluster, even about those that nobody "
            f"thought of, for {abridged(wide, _SHOWN)}"
        )
        yield Advice(Severity.NOTE, "match", message, "name the kinds in place of *")
    total = estimate.reviews.total
    saved = total - narrow.total if narrow is not None else 0
    if saved:
        open_ = [policy.policy.key for policy in policies if names_no_operation(policy)]
        message = (
            f"{saved:,} of {total:,} reviews are about deletions, which these rules pass over; "
            "they name no operation, so that Kyverno is asked all the same: "
            f"{abridged(open_, _SHOWN)}"
        )
        values = "operations: [CREATE, UPDATE] in match, or policyType: ValidatingPolicy"
        yield Advice(Severity.NOTE, "operations", message, values)
    sets = sum(kind.reports for kind in estimate.kinds if kind.kind == "ReplicaSet" and kind.made)
    reviews = by_kind.get("ReplicaSet", 0)
    if sets or reviews:
        message = (
            f"{counted(reviews, 'review')} and {counted(sets, 'report')} about ReplicaSets repeat "
            "what is said of their Deployments and Pods"
        )
        yield Advice(
            Severity.NOTE, "autogenControllers", message, f'autogenControllers: "{_CONTROLLERS}"'
        )


def _fewer_reports(estimate: Estimate) -> Iterator[Advice]:
    reports, settings = estimate.reports, estimate.settings
    if reports.passing:
        left = reports.reports - reports.passing
        message = (
            f"{reports.passing:,} of {counted(reports.reports, 'report')} have nothing but pass "
            f"and skip; {left:,} would remain without these results"
        )
        values = "features.reporting.allowedResults: [fail, error, warn]"
        yield Advice(Severity.NOTE, "features.reporting", message, values)
    if reports.filtered and settings.skip_resource_filters:
        count = counted(reports.filtered, "report")
        message = (
            f"background scans pass over the resource filters: {count} about objects that Kyverno "
            "is not sent"
        )
        values = "features.backgroundScan.skipResourceFilters: false"
        yield Advice(Severity.NOTE, "features.backgroundScan", message, values)
    if reports.revisions:
        count = counted(reports.revisions, "report")
        message = f"older ReplicaSets that Deployments keep may add {count}"
        values = "revisionHistoryLimit of the Deployments"
        yield Advice(Severity.NOTE, "revisionHistoryLimit", message, values)


def notes_for(load: Estimate, cluster: Cluster) -> list[str]:
    """Return notes about the basis of the figures."""
    upstream = measurements()
    notes = []
    if not load.settings.is_known:
        notes.append("Kyverno's settings are not known: the defaults of its chart are assumed")
    guessed = sorted({kind.kind for kind in load.kinds if not kind.is_measured and not kind.made})
    if guessed:
        notes.append(
            f"upstream counted no requests for {abridged(guessed, _SHOWN)}: at the least one for "
            "each operation, and what it counted for their Pods"
        )
    if any(kind_load.kind == "DaemonSet" for kind_load in load.kinds):
        notes.append(f"a DaemonSet counts as {cluster.nodes} Pods: --nodes says how many nodes")
    if any("finegrained" in name for name in load.webhooks):
        notes.append("matchConditions of policies are not evaluated: reviews may be fewer")
    if load.reports.reports:
        notes.append(
            f"etcd and memory: {upstream.source} measured them for Pods under {upstream.policies} "
            f"policies; here a report has {load.reports.mean:.1f} results"
        )
    return notes


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun; plural: if not with an s."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"
