"""ClusterCleanupPolicy and CleanupPolicy (kyverno.io/v2, v2beta1), compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.engine.cluster_policy.conditions import compile_conditions
from chartkit.engine.cluster_policy.match import Facts, Predicate, Role, always, bind_exception
from chartkit.engine.cluster_policy.match_reasons import MatchReasons
from chartkit.engine.cluster_policy.policy import Match, read_match
from chartkit.engine.context.context import Context, ImagesLoader, has_images
from chartkit.engine.context.entries import ContextEntries, compile_entries
from chartkit.engine.context.recorder import Sources, recorder_of
from chartkit.engine.kubernetes.definitions import (
    CLEANUP_RULE,
    check_schema,
    check_served,
    definition_check,
)
from chartkit.engine.kubernetes.kinds import CLEANUP_KINDS, GroupVersionKind, kind_of
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Request
from chartkit.engine.scalars.cron import CronExpression, is_standard
from chartkit.engine.why import Asked, Decision, RuleDecision, elsewhere
from chartkit.errors import ChartkitError
from chartkit.go.strconv import quote
from chartkit.model import Body, Diagnostic, Resource, RuleResult, RuleType, Severity, Status

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
        return self._conditions is None or self._conditions(_about(context, resource))

    def _bind(self, kind: GroupVersionKind) -> tuple[Predicate | None, Predicate | None]:
        found = self._bound.get(kind)
        if found is None:
            exclude = None if self._exclude is None else _bind(self._exclude, kind)
            found = self._bound[kind] = (_bind(self._match, kind), exclude)
        return found

    def _answer(self, status: Status, message: str) -> RuleResult:
        return RuleResult(self.key, self.name, RuleType.CLEANUP, status, message)


def _bind(match: Match, kind: GroupVersionKind) -> Predicate | None:
    """A block without filters fits every object."""
    return bind_exception(match, kind, "") if match.any or match.all else always


def _about(context: Context, resource: Resource) -> Context:
    context.set("target", resource.body)
    context.set("request", {"namespace": resource.namespace})
    if has_images(resource.body):
        context.defer(ImagesLoader(resource.body))
    return context


def read_cleanup_policy(resource: Resource) -> CleanupPolicy:
    """Compiles a cleanup policy; raises CompileError for one that its schema does not take."""
    check_schema(definition_check("CleanupPolicy"), resource)
    check_served(resource, API_VERSIONS, CLEANUP_KINDS)
    spec: Body = resource.body["spec"]
    namespaced = resource.kind == "CleanupPolicy"
    conditions, exclude = spec.get("conditions"), spec.get("exclude")
    schedule, problem = _schedule(spec["schedule"])
    # The faults that Kyverno's webhook finds in a policy that its command-line program
    # evaluates.
    faults = []
    for entry in spec.get("context") or ():
        for kind, name in (("imageRegistry", "ImageRegistry"), ("configMap", "ConfigMap")):
            if entry.get(kind) is not None:
                faults.append(f"spec.context: {name} is not allowed in CleanUp Policy")
    if problem:
        faults.append(f"spec.schedule: {problem}")
    for name in ("match", "exclude"):
        block = spec.get(name) or {}
        for one in (*(block.get("any") or ()), *(block.get("all") or ())):
            faults.extend(
                f"spec.{name}: {user} must not be specified: nobody asks for a cleanup"
                for user in ("roles", "clusterRoles", "subjects")
                if one.get(user)
            )
    wanted, unwanted = spec["match"].get("any") or (), (spec.get("exclude") or {}).get("any") or ()
    if any(one in unwanted for one in wanted):
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


def _schedule(text: str) -> tuple[CronExpression | None, str]:
    """Return a schedule, and what is wrong with it: Kyverno's webhook reads it with another library
    than its controller."""
    if not is_standard(text):
        fault = "schedule spec in the cleanupPolicy is not in proper cron format"
        return None, f"Invalid value: {quote(text)}: {fault}"
    try:
        return CronExpression.parse(text), ""
    except ValueError as error:
        fault = "Kyverno's webhook takes it, its controller cannot read it, and it never runs"
        return None, f"{quote(text)}: {fault}: {error}"


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
