"""The AdmissionReviews of operations on objects, by the webhooks that policies have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.serve.estimate.measurements import RUN, Lifecycle, Part, measurements
from chartkit.addons.serve.estimate.model import OPERATIONS, Reviews
from chartkit.addons.serve.estimate.objects import APPS, BATCH, made_shapes, runs_a_day
from chartkit.addons.serve.estimate.webhooks import Webhook
from chartkit.engine import Operation, Reason, Request, as_submitted
from chartkit.engine.cel_policies.attributes import Attributes
from chartkit.engine.configuration import RESOURCE_FILTERS
from chartkit.engine.kubernetes.kinds import CustomNames, kind_of
from chartkit.model import Resource

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
    if _GROUPS.get(kind) == group:
        return measurements().lifecycle(kind)
    return measurements().other(kind)


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
        """Return the reviews of creating, updating and deleting an object once, and those that it
        causes on a day; pods: how many it has."""
        lifecycle, found = lifecycle_of(resource), Reviews()
        subjects = {**made_shapes(resource), resource.kind: resource}
        sent: dict[tuple[str, Operation], int] = {}
        for operation in OPERATIONS:
            parts = lifecycle.operations.get(operation, ())
            counts = dict(self._parts(parts, subjects, pods, sent))
            found.by_operation[operation] += sum(counts.values())
            self.by_kind.update(counts)
        if RUN in lifecycle.operations:
            each = sum(
                count for _, count in self._parts(lifecycle.operations[RUN], subjects, pods, sent)
            )
            found.a_day = each * runs_a_day(resource)
        return found

    def _parts(
        self,
        parts: Sequence[Part],
        subjects: Mapping[str, Resource],
        pods: int,
        sent: dict[tuple[str, Operation], int],
    ) -> Iterator[tuple[str, int]]:
        """Yield the kind and the reviews of each kind of request; sent: to how many webhooks."""
        totals: Counter[str] = Counter()
        for part in parts:
            subject = subjects.get(part.kind)
            if subject is None:
                continue
            key = (part.kind, part.operation)
            if key not in sent:
                sent[key] = self._sent(subject, part.operation)
            totals[part.kind] += sent[key] * part.requests(pods)
        yield from totals.items()

    def _sent(self, given: Resource, operation: Operation) -> int:
        """Return how many webhooks an API server sends a request to."""
        resource = as_submitted(given, custom=self.names)
        if any(each.key != RESOURCE_FILTERS for each in self.unsent(resource)):
            return 0
        old = resource if operation is Operation.UPDATE else None
        request = replace(
            self.request(resource),
            operation=operation,
            old=old,
            plural=self.names.plural(kind_of(resource)),
        )
        attributes = Attributes(request)
        return sum(each.is_sent(attributes) for each in self.webhooks)
