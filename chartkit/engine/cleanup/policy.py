"""Cleanup policies (kyverno.io), and planned deletions: the next run of every cleanup policy, and
the TTL labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from chartkit.engine.cluster_policy.conditions.blocks import compile_conditions
from chartkit.engine.cluster_policy.match import Facts, Predicate, Role, always, bind_exception
from chartkit.engine.cluster_policy.match_reasons import MatchReasons
from chartkit.engine.cluster_policy.policy import Match, read_match
from chartkit.engine.context.context import Context, ImagesLoader, has_images
from chartkit.engine.context.entries import ContextEntries, compile_entries
from chartkit.engine.context.recorder import Sources, recorder_of
from chartkit.engine.jmespath.nodes import current_sources, use_sources
from chartkit.engine.kubernetes.definitions import (
    CLEANUP_RULE,
    check_schema,
    check_served,
    definition_check,
)
from chartkit.engine.kubernetes.kinds import (
    CLEANUP_KINDS,
    UNKNOWN,
    GroupVersionKind,
    kind_of,
    scope_of,
)
from chartkit.engine.ports.services import labels_of
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Request
from chartkit.engine.scalars.cron import CronExpression, is_standard
from chartkit.engine.why import Asked, Decision, RuleDecision, elsewhere
from chartkit.errors import ChartkitError, InputError
from chartkit.go.duration import parse_duration
from chartkit.go.strconv import quote
from chartkit.model import (
    Body,
    Diagnostic,
    Resource,
    RuleResult,
    RuleType,
    Severity,
    Status,
    mapping_at,
)

API_VERSIONS: Final = ("kyverno.io/v2", "kyverno.io/v2beta1")

_MATCHED: Final = "resource matched"
_UNMATCHED: Final = "resource did not match"
_TOO_DEEP: Final = "the object or the policy is nested too deep"


@dataclass(frozen=True, slots=True)
class CleanupPolicy:
    """A cleanup policy that is ready to run.

    namespace: where alone it deletes, empty for everywhere; schedule: None where it cannot be read,
    and then it never runs; propagation: what becomes of the objects that a deleted one owns;
    diagnostics: why a cluster would not take the policy, though Kyverno's command-line program
    evaluates it.
    """

    name: str
    resource: Resource
    namespace: str
    schedule: CronExpression | None
    propagation: str
    diagnostics: tuple[Diagnostic, ...]
    _match: Match
    _exclude: Match | None
    _entries: ContextEntries
    _conditions: AnyAll | None
    _bound: dict[GroupVersionKind, tuple[Predicate | None, Predicate | None]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def key(self) -> str:
        """The name in results: `name`, or `namespace/name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def evaluate(self, request: Request, world: World = OFFLINE) -> RuleResult:
        """Report whether it would delete an object: pass for yes, fail for no. Never raises because
        of the policy or the object."""
        return self._evaluated(request, Context({}, world))

    def why(self, request: Request, world: World = OFFLINE) -> tuple[RuleResult, RuleDecision]:
        """Return what `evaluate` returns, and what decided it."""
        spec, location = self.resource.body["spec"], self.resource.location
        sources = Sources(spec, location, ("spec",), ())
        context = Context({}, world)
        recorder = context.recorder = recorder_of(sources, request.resource)
        recorder.elements = {"target": recorder.judged}
        result = self._evaluated(request, context)
        reasons = MatchReasons(sources, Facts(request), kind_of(request.resource), "")
        decision = elsewhere(location, self.namespace, request.resource.namespace)
        decision = decision or self._why_match(reasons)
        parts = tuple(recorder.parts)
        if decision.holds and parts:
            deletes = result.status is Status.PASS
            deciding = next((part for part in parts if part.holds is deletes), parts[-1])
            decision = replace(deciding, parts=parts)
        return result, RuleDecision(self.key, "", result.status, decision, result.message)

    def _why_match(self, reasons: MatchReasons) -> Decision:
        if not (self._match.any or self._match.all):
            return Decision(Asked.MATCH, True, "no filter: any object", reasons.sources.at("match"))
        return reasons.rule(self._match, self._exclude, (Role.EXCEPTION, Role.EXCEPTION))

    def _evaluated(self, request: Request, context: Context) -> RuleResult:
        try:
            deletes = self._deletes(request, context)
            problem = context.budget.end()
            if problem is not None:
                raise problem
        except ChartkitError as error:
            return self._answer(Status.ERROR, error.message)
        except RecursionError:
            return self._answer(Status.ERROR, _TOO_DEEP)
        if deletes:
            return self._answer(Status.PASS, _MATCHED)
        return self._answer(Status.FAIL, _UNMATCHED)

    def _deletes(self, request: Request, context: Context) -> bool:
        self._entries.attach(context)
        resource = request.resource
        if self.namespace and resource.namespace != self.namespace:
            return False
        facts = Facts(request)
        wanted, unwanted = self._bind(kind_of(resource))
        if wanted is None or not wanted(facts):
            return False
        if unwanted is not None and unwanted(facts):
            return False
        if self._conditions is None:
            return True
        context.set("target", resource.body)
        context.set("request", {"namespace": resource.namespace})
        if has_images(resource.body):
            context.defer(ImagesLoader(resource.body))
        return self._conditions(context)

    def _bind(self, kind: GroupVersionKind) -> tuple[Predicate | None, Predicate | None]:
        predicates = self._bound.get(kind)
        if predicates is None:
            exclude = None if self._exclude is None else _bind(self._exclude, kind)
            predicates = self._bound[kind] = (_bind(self._match, kind), exclude)
        return predicates

    def _answer(self, status: Status, message: str) -> RuleResult:
        return RuleResult(self.key, self.name, RuleType.CLEANUP, status, message)


def _bind(match: Match, kind: GroupVersionKind) -> Predicate | None:
    """A block without filters fits every object."""
    return bind_exception(match, kind, "") if match.any or match.all else always


def read_cleanup_policy(resource: Resource) -> CleanupPolicy:
    """Compiles a cleanup policy; raises CompileError for one that its schema does not take."""
    check_schema(definition_check("CleanupPolicy"), resource)
    check_served(resource, API_VERSIONS, CLEANUP_KINDS)
    spec: Body = resource.body["spec"]
    namespaced = resource.kind == "CleanupPolicy"
    conditions, exclude = spec.get("conditions"), spec.get("exclude")
    # A schedule and its fault: Kyverno's webhook and controller parse it with different libraries.
    text = spec["schedule"]
    if not is_standard(text):
        schedule_fault = "schedule spec in the cleanupPolicy is not in proper cron format"
        schedule, problem = None, f"Invalid value: {quote(text)}: {schedule_fault}"
    else:
        try:
            schedule, problem = CronExpression.parse(text), ""
        except ValueError as error:
            schedule_fault = (
                "Kyverno's webhook takes it, its controller cannot read it, and it never runs"
            )
            schedule, problem = None, f"{quote(text)}: {schedule_fault}: {error}"
    # The faults that Kyverno's webhook finds in a policy that its command-line program
    # evaluates.
    faults = []
    for entry in spec.get("context") or ():
        for kind, name in (("imageRegistry", "ImageRegistry"), ("configMap", "ConfigMap")):
            if entry.get(kind) is not None:
                faults.append(f"spec.context: {name} is not allowed in CleanUp Policy")
    if problem:
        faults.append(f"spec.schedule: {problem}")
    faults.extend(_filter_faults(spec, namespaced))
    wanted, unwanted = spec["match"].get("any") or (), (spec.get("exclude") or {}).get("any") or ()
    if any(value in unwanted for value in wanted):
        faults.append("spec: CleanupPolicy is matching an empty set")
    return CleanupPolicy(
        name=resource.name,
        resource=resource,
        namespace=resource.namespace if namespaced else "",
        schedule=schedule,
        propagation=spec.get("deletionPropagationPolicy") or "",
        diagnostics=tuple(
            Diagnostic(CLEANUP_RULE, Severity.WARNING, fault, resource.location) for fault in faults
        ),
        _match=read_match(spec["match"]),
        _exclude=None if exclude is None else read_match(exclude),
        _entries=compile_entries(spec.get("context") or ()),
        _conditions=None if conditions is None else compile_any_all(conditions),
    )


def _filter_faults(spec: Body, namespaced: bool) -> Iterator[str]:
    """Yield what Kyverno's webhook refuses of the filters of a cleanup policy."""
    for name in ("match", "exclude"):
        block = spec.get(name) or {}
        for part in (*(block.get("any") or ()), *(block.get("all") or ())):
            for user in filter(part.get, ("roles", "clusterRoles", "subjects")):
                yield f"spec.{name}: {user} must not be specified: nobody asks for a cleanup"
            resources = (part.get("resources") or {}) if namespaced else {}
            if resources.get("namespaces"):
                yield f"spec.{name}: Filtering namespaces not allowed in namespaced policies"
            for kind in filter(scope_of(UNKNOWN), resources.get("kinds") or ()):
                text = f"Cluster wide resource '{kind}' not allowed in namespaced policy"
                yield f"spec.{name}: {text}"


AnyAll = Callable[[Context], bool]
"""A test whether conditions hold in a context; raises EvaluationError."""


def compile_any_all(body: Body) -> AnyAll:
    """Compiles an any/all block whose schema was checked: every one of `all`, then one of `any`.

    Unlike preconditions, a failed `all` spares the rest, and an empty `any` holds
    (`pkg/utils/conditions`).
    """
    every = compile_conditions({"all": body.get("all") or []})
    some = body.get("any") or []
    alternatives = compile_conditions({"any": some}) if some else None

    def holds(context: Context) -> bool:
        if not every.evaluate(context).holds:
            return False
        return alternatives is None or alternatives.evaluate(context).holds

    return holds


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

    @property
    def propagation(self) -> str:
        """`deletionPropagationPolicy`; empty for the API server's default."""

    def evaluate(self, request: Request, world: World = OFFLINE, /) -> RuleResult | None:
        """Return pass for an object that it deletes; None without a match."""

    def why(
        self, request: Request, world: World = OFFLINE, /
    ) -> tuple[RuleResult | None, RuleDecision]:
        """Return what `evaluate` returns, and what decided it."""


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

    created: when the object is created, unless its metadata has the time. Raises InputError for a
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
    parts = [
        int(number) * seconds
        for number, unit in _PART.findall(text)
        for names, seconds in _SECONDS
        if unit.lower() in names or unit.lower().startswith(names[-1])
    ]
    try:
        return timedelta(seconds=sum(parts)) if parts else None
    except OverflowError:
        return None


def _created(text: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return time if time is None or time.tzinfo else time.replace(tzinfo=UTC)
