"""The objects that Kubernetes' controllers make of others: ReplicaSets, Jobs and Pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.scalars.cron import Schedule
from chartkit.model import Body, Json, Resource, mapping_at, mappings_at

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
    """Return the runs of a CronJob a day, over a week; 0 if it is suspended, or its schedule cannot
    be read."""
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
