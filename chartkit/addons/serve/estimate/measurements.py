"""Upstream's measurements, and what follows from them for other numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final

from chartkit.addons.serve.estimate.webhooks import EngineSettings
from chartkit.documents.reader import read_file
from chartkit.engine import Operation
from chartkit.model import Body, Severity

_FILE: Final = Path(__file__).with_name("measurements.yaml")
MEGABYTE: Final = 1_000_000
MEBIBYTE: Final = 1 << 20
RUN: Final = "RUN"
"""The name of what a run of a CronJob does, next to operations."""
_SELF: Final = "self"
DELETE, CREATE, UPDATE = Operation.DELETE, Operation.CREATE, Operation.UPDATE
OPERATIONS = (CREATE, UPDATE, DELETE)


@dataclass(frozen=True, slots=True)
class Measured:
    """A value for a number of PolicyReports; basis: how it follows from what upstream measured."""

    value: float
    basis: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity by the number of PolicyReports, as upstream measured it."""

    points: tuple[tuple[int, float], ...]

    @property
    def slope(self) -> float:
        """Return the growth for each report, from the first measurement to the last."""
        (first, low), (last, high) = self.points[0], self.points[-1]
        return (high - low) / (last - first)

    def at(self, reports: int) -> Measured:
        """Return the value for a number of reports: between two measurements on the line that joins
        them, outside of all on the line of the growth through the nearest one."""
        (first, _), (last, _) = self.points[0], self.points[-1]
        if reports < first or reports > last:
            x, y = self.points[0] if reports < first else self.points[-1]
            where = "fewer" if reports < first else "more"
            basis = f"extrapolated from {x:,} reports, {where} were not measured"
            return Measured(y + (reports - x) * self.slope, basis)
        index = bisect_left([x for x, _ in self.points], reports)
        x, y = self.points[index]
        if x == reports:
            return Measured(y, f"measured at {x:,} reports")
        before, low = self.points[index - 1]
        value = low + (y - low) * (reports - before) / (x - before)
        return Measured(value, f"between the measurements at {before:,} and {x:,} reports")


@dataclass(frozen=True, slots=True)
class Part:
    """Requests of one kind and operation: a number, and a number for each Pod."""

    kind: str
    operation: Operation
    count: int
    per_pod: int

    def requests(self, pods: int) -> int:
        """Return the requests for an object with some Pods."""
        return self.count + self.per_pod * pods


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The requests of operations on an object of a kind; is_measured: by upstream."""

    is_measured: bool
    operations: Mapping[str, tuple[Part, ...]]


@dataclass(frozen=True, slots=True)
class AdmissionLoad:
    """The admission controller under load: average and longest latency in milliseconds, memory in
    mebibytes and processor in millicores of one replica."""

    form: str
    policies: int
    replicas: int
    requests: int
    average: float
    longest: float
    mebibytes: int
    millicores: int


@dataclass(frozen=True, slots=True)
class Measurements:
    """etcd: the whole database, in bytes; memory: of the reports controller, in bytes; policies:
    those under which both were measured."""

    source: str
    policies: int
    etcd: Curve
    memory: Curve
    lifecycles: Mapping[str, Lifecycle]
    others: Lifecycle
    admission: tuple[AdmissionLoad, ...]

    def lifecycle(self, kind: str, is_own: bool) -> Lifecycle:
        """Return the requests of operations on an object of a kind; is_own: whether it is one of
        Kubernetes' own."""
        lifecycle = self.lifecycles.get(kind, self.others) if is_own else self.others
        operations = {
            name: tuple(replace(part, kind=kind) if part.kind == _SELF else part for part in parts)
            for name, parts in lifecycle.operations.items()
        }
        return Lifecycle(lifecycle.is_measured, operations)


@cache
def measurements() -> Measurements:
    """Return upstream's measurements."""
    body: Body = read_file(_FILE)[0].body
    rows: Sequence[Body] = body["reports"]
    return Measurements(
        source=body["source"],
        policies=body["policies"],
        etcd=Curve(tuple((row["reports"], row["megabytes"] * MEGABYTE) for row in rows)),
        memory=Curve(tuple((row["reports"], row["mebibytes"] * MEBIBYTE) for row in rows)),
        lifecycles={kind: _lifecycle(lifecycle) for kind, lifecycle in body["lifecycles"].items()},
        others=_lifecycle(body["others"]),
        admission=tuple(AdmissionLoad(**row) for row in body["admission"]),
    )


def _lifecycle(body: Body) -> Lifecycle:
    operations = {
        name: tuple(Part(kind, Operation(op), count, when) for kind, op, count, when in parts)
        for name, parts in body.items()
        if name != "measured"
    }
    return Lifecycle(body["measured"], operations)


@dataclass(slots=True)
class Reviews:
    """AdmissionReviews by operation, for every object once; a_day: by CronJobs."""

    by_operation: dict[Operation, int] = field(default_factory=lambda: dict.fromkeys(OPERATIONS, 0))
    a_day: float = 0

    @property
    def total(self) -> int:
        """Those to create, update and delete every object once."""
        return sum(self.by_operation.values())


@dataclass(slots=True)
class KindLoad:
    """The load of the objects of one kind. made: whether controllers make them of other objects;
    is_measured: whether upstream counted the requests of the kind; the requests of what they make
    are theirs."""

    kind: str
    made: bool
    is_measured: bool
    objects: int = 0
    reviews: Reviews = field(default_factory=Reviews)
    reports: int = 0


@dataclass(slots=True)
class ReportLoad:
    """PolicyReports. results: in all of them; size: their JSON, in bytes; passing: those that say
    nothing but pass and skip; filtered: of objects that resource filters keep from Kyverno;
    revisions: reports of older ReplicaSets that may be added; ephemeral: the reports that creating
    every object leaves for the reports controller to gather."""

    reports: int = 0
    results: int = 0
    size: int = 0
    passing: int = 0
    filtered: int = 0
    revisions: int = 0
    ephemeral: int = 0

    @property
    def mean(self) -> float:
        """The results of a report on average."""
        return self.results / self.reports if self.reports else 0


@dataclass(frozen=True, slots=True)
class Advice:
    """A value that would bring the load down, or a fault. key: of values or a policy; effect: in
    figures; severity: a warning for what goes wrong, else a note."""

    severity: Severity
    key: str
    message: str
    values: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The load of the policies of an environment; environment: empty for policies that the user
    names; policies: how many Kyverno judges objects by; webhooks: by name, with their policies;
    database, memory: what upstream's measurements say for so many reports, in bytes; growth: that
    of etcd, more than was measured where reports have more results."""

    environment: str
    settings: EngineSettings
    policies: int
    objects: int
    kinds: Sequence[KindLoad]
    reviews: Reviews
    webhooks: Mapping[str, Sequence[str]]
    reports: ReportLoad
    database: Measured
    memory: Measured
    growth: float
    advice: Sequence[Advice]
    notes: Sequence[str]
