"""Policies to promote, the evidence about each, the plan, and the options that ask for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from chartkit.engine import RunnablePolicy
from chartkit.model import Diagnostic, Location, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteOptions:
    """policies: by name; candidates: all that only audit; source: the environment that enforces
    candidates already, None for any; target: the environment to promote in; namespaces: names with
    wildcards, none for all; evidence: manifests, charts, recordings and reports; cluster, context:
    a live cluster; reporter: the URL of policy-reporter; allowed_hosts: those that may be called;
    days: how far reports must reach back; owner_label: of objects and namespaces; unmatched:
    whether a policy without any object may be promoted; with_exceptions: whether exceptions are
    written; exception_days: how long they hold; back: whether to take promotions back; write:
    whether to change files; path: of the project."""

    policies: tuple[str, ...]
    candidates: bool
    source: str | None
    target: str
    namespaces: tuple[str, ...]
    evidence: tuple[str, ...]
    cluster: bool
    context: str | None
    reporter: str | None
    allowed_hosts: tuple[str, ...]
    days: int | None
    owner_label: str
    unmatched: bool
    with_exceptions: bool
    exception_days: int
    back: bool
    write: bool
    path: Path


@dataclass(frozen=True, slots=True, order=True)
class ObjectName:
    """The identity of an object; namespace: empty for cluster-scoped ones."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"


@dataclass(frozen=True, slots=True)
class Violation:
    """An object that Enforce would refuse. rule: empty for a policy without rules; source: what
    says so; owner: empty where none is known; resource: as far as it is known."""

    subject: ObjectName
    rule: str
    message: str
    source: str
    owner: str
    resource: Resource
    location: Location | None = None


@dataclass(slots=True)
class Evidence:
    """Everything that is known about a policy.

    judged: objects that pass a rule or are exempt from it, by source; blocked: those that would be
    refused; undecided: those whose result is an error; unsent: those that Kyverno is never sent;
    reported: results of reports; outdated: how many of those are older than the object, which
    passes now; since, until: the earliest and the latest of the results.
    """

    judged: dict[str, set[ObjectName]] = field(default_factory=dict)
    blocked: list[Violation] = field(default_factory=list)
    undecided: list[Violation] = field(default_factory=list)
    unsent: set[ObjectName] = field(default_factory=set)
    reported: Counter[str] = field(default_factory=Counter)
    outdated: int = 0
    since: datetime | None = None
    until: datetime | None = None

    @property
    def objects(self) -> set[ObjectName]:
        """Every object that a source says something of."""
        names = {violation.subject for violation in (*self.blocked, *self.undecided)}
        return names.union(*self.judged.values())

    @property
    def passing(self) -> set[ObjectName]:
        """The objects that pass every rule of the policy or are exempt from it."""
        return self.objects - {violation.subject for violation in (*self.blocked, *self.undecided)}

    def merge(self, other: Evidence) -> None:
        """Add other evidence about the same policy."""
        for source, names in other.judged.items():
            self.judged.setdefault(source, set()).update(names)
        self.blocked += other.blocked
        self.undecided += other.undecided
        self.unsent |= other.unsent
        self.outdated += other.outdated
        self.reported += other.reported
        for moment in (other.since, other.until):
            if moment is not None:
                self.add_time(moment)

    def add_time(self, moment: datetime) -> None:
        """Widen the time that the reports cover."""
        self.since = moment if self.since is None else min(self.since, moment)
        self.until = moment if self.until is None else max(self.until, moment)


@dataclass(slots=True)
class Candidate:
    """A policy of the environment; name: as chartkit.yaml has it; compiled: its objects; caveats:
    what the evidence cannot show."""

    name: str
    compiled: tuple[RunnablePolicy, ...]
    evidence: Evidence = field(default_factory=Evidence)
    caveats: tuple[str, ...] = ()


class Verdict(StrEnum):
    """The decision about a policy."""

    PROMOTE = "promote"
    HELD = "held back"
    DONE = "enforces already"


@dataclass(frozen=True, slots=True)
class PlannedPolicy:
    """A policy of a plan; reasons: for which it is held back; exceptions: how many objects are
    exempted so that it is not."""

    candidate: Candidate
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    exceptions: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """environment: `prd`, or `prd/east` for a cluster; namespaces: none for all; sources: of the
    evidence, each with the objects that it has; notes: of the sources; unread: a row for each input
    that cannot be read."""

    environment: str
    namespaces: tuple[str, ...]
    policies: tuple[PlannedPolicy, ...]
    sources: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()
    unread: tuple[Diagnostic, ...] = ()

    def of(self, verdict: Verdict) -> Sequence[PlannedPolicy]:
        return [policy for policy in self.policies if policy.verdict is verdict]

    @property
    def blocked(self) -> list[Violation]:
        """The violations of the policies that are held back."""
        held = self.of(Verdict.HELD)
        return [violation for policy in held for violation in policy.candidate.evidence.blocked]
