"""Advice: values that reduce a load, and the problems that it causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from chartkit.addons.serve.estimate.objects import Cluster
from chartkit.addons.serve.estimate.webhooks import matches_everything, names_no_operation
from chartkit.engine import RunnablePolicy
from chartkit.model import Severity
from chartkit.wording import abridged

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
    found: Estimate,
    policies: Sequence[RunnablePolicy],
    narrow: Reviews | None,
    by_kind: Mapping[str, int],
) -> list[Advice]:
    """Return the problems first, then the values that reduce the load; narrow: the reviews if all
    rules named CREATE and UPDATE; by_kind: the reviews about objects of each kind."""
    wrong = [*_reports_pile_up(found), *_resources(found)]
    less = [*_fewer_reviews(found, policies, narrow, by_kind), *_fewer_reports(found)]
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


def notes_for(found: Estimate, cluster: Cluster) -> list[str]:
    """Return notes about the basis of the figures."""
    upstream = measurements()
    notes = []
    if not found.settings.is_known:
        notes.append("Kyverno's settings are not known: the defaults of its chart are assumed")
    guessed = sorted({kind.kind for kind in found.kinds if not kind.is_measured and not kind.made})
    if guessed:
        notes.append(
            f"upstream counted no requests for {abridged(guessed, _SHOWN)}: at the least one for "
            "each operation, and what it counted for their Pods"
        )
    if any(kind_load.kind == "DaemonSet" for kind_load in found.kinds):
        notes.append(f"a DaemonSet counts as {cluster.nodes} Pods: --nodes says how many nodes")
    if any("finegrained" in name for name in found.webhooks):
        notes.append("matchConditions of policies are not evaluated: reviews may be fewer")
    if found.reports.reports:
        notes.append(
            f"etcd and memory: {upstream.source} measured them for Pods under {upstream.policies} "
            f"policies; here a report has {found.reports.mean:.1f} results"
        )
    return notes


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number with its noun; more: the plural, if not with an s."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"
