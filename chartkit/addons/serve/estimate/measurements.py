"""Upstream's measurements, and what follows from them for other numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from chartkit.documents.reader import read_file
from chartkit.engine import Operation
from chartkit.model import Body

_FILE: Final = Path(__file__).with_name("measurements.yaml")
MEGABYTE: Final = 1_000_000
MEBIBYTE: Final = 1 << 20
RUN: Final = "RUN"
"""The name of what a run of a CronJob does, next to operations."""
_SELF: Final = "self"


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

    def lifecycle(self, kind: str) -> Lifecycle:
        """Return the requests of operations on an object of one of Kubernetes' own kinds."""
        return _named(self.lifecycles.get(kind, self.others), kind)

    def other(self, kind: str) -> Lifecycle:
        """Return the requests of operations on an object of any other kind."""
        return _named(self.others, kind)


def _named(lifecycle: Lifecycle, kind: str) -> Lifecycle:
    """Return a lifecycle with a kind in the place of `self`."""
    operations = {
        name: tuple(replace(each, kind=kind) if each.kind == _SELF else each for each in parts)
        for name, parts in lifecycle.operations.items()
    }
    return Lifecycle(lifecycle.is_measured, operations)


@cache
def measurements() -> Measurements:
    """Return what upstream measured."""
    body: Body = read_file(_FILE)[0].body
    rows: Sequence[Body] = body["reports"]
    return Measurements(
        source=body["source"],
        policies=body["policies"],
        etcd=Curve(tuple((row["reports"], row["megabytes"] * MEGABYTE) for row in rows)),
        memory=Curve(tuple((row["reports"], row["mebibytes"] * MEBIBYTE) for row in rows)),
        lifecycles={kind: _lifecycle(each) for kind, each in body["lifecycles"].items()},
        others=_lifecycle(body["others"]),
        admission=tuple(AdmissionLoad(**row) for row in body["admission"]),
    )


def _lifecycle(body: Body) -> Lifecycle:
    operations = {
        name: tuple(Part(kind, Operation(op), count, each) for kind, op, count, each in parts)
        for name, parts in body.items()
        if name != "measured"
    }
    return Lifecycle(body["measured"], operations)
