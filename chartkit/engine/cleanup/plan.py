"""Planned deletions: every cleanup policy's next run, and the TTL labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from chartkit.engine.jmespath.nodes import current_sources, use_sources
from chartkit.engine.ports.services import labels_of
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Request
from chartkit.engine.scalars.cron import CronExpression
from chartkit.engine.why import RuleDecision
from chartkit.errors import ChartkitError, InputError
from chartkit.go.duration import parse_duration
from chartkit.model import Diagnostic, Resource, RuleResult, Severity, Status, mapping_at

TTL_RULE: Final = "ttl-label"
"""The id of diagnostics for TTL labels that Kyverno cannot read."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PROPAGATIONS: Final = frozenset(("Foreground", "Background", "Orphan"))


@dataclass(frozen=True, slots=True)
class Deletion:
    """An object that goes, when, and by what: a policy's key, or the label's name.

    propagation: Foreground, Background or Orphan; empty for the API server's default.
    """

    resource: Resource
    time: datetime
    cause: str
    propagation: str = ""


@runtime_checkable
class Cleaner(Protocol):
    """A compiled policy that deletes on a schedule, of either generation.

    schedule: None where it cannot be read, and then it never runs; diagnostics: why a cluster
    refuses the policy, though Kyverno's command-line program evaluates it.
    """

    @property
    def name(self) -> str: ...

    @property
    def resource(self) -> Resource: ...

    @property
    def schedule(self) -> CronExpression | None: ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...

    @property
    def key(self) -> str:
        """The name in results: `name`, or `namespace/name`."""
        ...

    @property
    def propagation(self) -> str:
        """`deletionPropagationPolicy`; empty for the API server's default."""
        ...

    def evaluate(self, request: Request, world: World = OFFLINE, /) -> RuleResult | None:
        """Return pass for an object that it deletes; None where it does not match."""
        ...

    def why(
        self, request: Request, world: World = OFFLINE, /
    ) -> tuple[RuleResult | None, RuleDecision]:
        """Return what `evaluate` returns, and what decided it."""
        ...


def plan_deletions(
    policies: Sequence[Cleaner],
    resources: Iterable[Resource],
    at: datetime,
    namespaces: Mapping[str, Mapping[str, str]],
    world: World = OFFLINE,
) -> tuple[list[Deletion], list[Diagnostic]]:
    """Return the deletions of existing objects at a time, in order of time.

    A policy deletes what fits it at its next run, so its conditions see that run's time. An object
    without a creation time counts as created at `at`. namespaces: the labels of each. The
    diagnostics name labels and policies that could not be evaluated.
    """
    deletions: list[Deletion] = []
    diagnostics: list[Diagnostic] = []
    everything = list(resources)
    for policy in policies:
        run = policy.schedule.next(at) if policy.schedule is not None else None
        if run is not None:
            deletions += _run(policy, everything, run, namespaces, world, diagnostics)
    for resource in everything:
        try:
            time = deletion_time(resource, at)
        except ChartkitError as error:
            diagnostics.append(_warning(TTL_RULE, error.message, resource))
            continue
        if time is not None:
            given = mapping_at(resource.body, "metadata", "annotations").get(PROPAGATION)
            propagation = given if isinstance(given, str) and given in _PROPAGATIONS else ""
            deletions.append(Deletion(resource, max(time, at), LABEL, propagation))
    return sorted(deletions, key=lambda deletion: deletion.time), diagnostics


def _run(
    policy: Cleaner,
    resources: Iterable[Resource],
    run: datetime,
    namespaces: Mapping[str, Mapping[str, str]],
    world: World,
    diagnostics: list[Diagnostic],
) -> Iterator[Deletion]:
    nanoseconds = (run - _EPOCH) // timedelta(microseconds=1) * 1000
    with use_sources(replace(current_sources(), now=lambda: nanoseconds)):
        for resource in resources:
            labels = namespaces.get(resource.namespace, {})
            result = policy.evaluate(Request(resource, namespace_labels=labels), world)
            if result is None:
                continue
            if result.status is Status.PASS:
                yield Deletion(resource, run, policy.key, policy.propagation)
            elif result.status is Status.ERROR:
                message = f"{policy.key}: {result.message}"
                diagnostics.append(_warning("cleanup-policy", message, resource))


def _warning(rule: str, message: str, resource: Resource) -> Diagnostic:
    return Diagnostic(rule, Severity.WARNING, message, resource.location)


LABEL: Final = "cleanup.kyverno.io/ttl"
PROPAGATION: Final = "cleanup.kyverno.io/propagation-policy"
"""The annotation that says what becomes of the objects that a deleted one owns."""

_PART: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_TIMES: Final = ("%Y-%m-%dT%H%M%SZ", "%Y-%m-%d")
_SECONDS: Final = (
    (("ns", "nano"), 1e-9),
    (("us", "µs", "micro"), 1e-6),
    (("ms", "milli"), 1e-3),
    (("s", "sec"), 1),
    (("m", "min"), 60),
    (("h", "hr", "hour"), 3600),
    (("d", "day"), 86400),
    (("w", "wk", "week"), 604800),
)
"""Units and what they are called; more may follow the last of each (`days`)."""


def deletion_time(resource: Resource, created: datetime) -> datetime | None:
    """Return the time at which an object's label has it deleted; None if it has none.

    created: when the object is made, where it does not say so itself. Raises InputError for a
    label that Kyverno cannot read, and then nothing is deleted.
    """
    text = labels_of(resource.body).get(LABEL)
    metadata = mapping_at(resource.body, "metadata")
    if text is None or metadata.get("deletionTimestamp") is not None:
        return None
    life = _duration(text)
    if life is None:
        for layout in _TIMES:
            try:
                return datetime.strptime(text, layout).replace(tzinfo=UTC)
            except ValueError:
                continue
        raise InputError(
            f"label {LABEL}: {text!r} is neither a duration nor a time: nothing is deleted",
            resource.location,
            "write 2h, 30m, 7d, 2030-01-31 or 2030-01-31T120000Z",
        )
    try:
        return (_created(metadata.get("creationTimestamp")) or created) + life
    except OverflowError:
        return None


def _duration(text: str) -> timedelta | None:
    try:
        return timedelta(microseconds=parse_duration(text) / 1000)
    except (ValueError, OverflowError):
        pass
    found = [
        int(number) * seconds
        for number, unit in _PART.findall(text)
        for names, seconds in _SECONDS
        if unit.lower() in names or unit.lower().startswith(names[-1])
    ]
    try:
        return timedelta(seconds=sum(found)) if found else None
    except OverflowError:
        return None


def _created(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
