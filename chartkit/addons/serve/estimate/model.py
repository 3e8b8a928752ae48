"""The figures of an estimate, and what would change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chartkit.addons.serve.estimate.kyverno_settings import EngineSettings
from chartkit.addons.serve.estimate.measurements import Measured
from chartkit.engine import Operation
from chartkit.model import Severity

DELETE, CREATE, UPDATE = Operation.DELETE, Operation.CREATE, Operation.UPDATE
OPERATIONS = (CREATE, UPDATE, DELETE)


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
    revisions: those of older ReplicaSets that may come on top; ephemeral: the reports that creating
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

    def with_advice(self, advice: Sequence[Advice], notes: Sequence[str]) -> Estimate:
        """Return the estimate with what follows from it."""
        return replace(self, advice=tuple(advice), notes=tuple(notes))
