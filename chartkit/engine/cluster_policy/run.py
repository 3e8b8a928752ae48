"""The rules of ClusterPolicies in a run: what they see of the request, their order, and how one
runs: its context, its preconditions, its exceptions, its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from chartkit.engine.budget import FEW
from chartkit.engine.cluster_policy.handler import Checked, ExceptedHandler, Handler
from chartkit.engine.cluster_policy.match import Facts, Predicate, matched_fields
from chartkit.engine.cluster_policy.policy import Policy, Rule, RuleKind
from chartkit.engine.context.context import Context, admission_context
from chartkit.engine.context.entries import ContextEntries
from chartkit.engine.context.variables import Template
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Operation, Phase, Request, User, given_operation
from chartkit.errors import ChartkitError, EvaluationError, Reraise
from chartkit.go.strconv import mark_literals, marked
from chartkit.model import Body, Json, Resource, RuleResult, RuleType, Status

if TYPE_CHECKING:
    from chartkit.engine.budget import Budget
    from chartkit.engine.cluster_policy.conditions.blocks import Conditions
    from chartkit.engine.cluster_policy.exceptions import BoundException, PolicyException
    from chartkit.engine.cluster_policy.validate_cel import WebhookConditions
    from chartkit.engine.request import Run

BACKGROUND_CONTROLLER: Final = "system:serviceaccount:kyverno:kyverno-background-controller"
"""The user that generates objects and changes existing ones, as Kyverno's chart names it."""
_IN_BACKGROUND: Final = frozenset({RuleKind.GENERATE, RuleKind.MUTATE_EXISTING})
_DECIDED: Final = (Status.PASS, Status.FAIL, Status.WARN)
_APPLIED: Final = {
    Phase.MUTATE: _DECIDED,
    Phase.IMAGES: _DECIDED,
    Phase.VALIDATE: _DECIDED,
    Phase.GENERATE: (*_DECIDED, Status.ERROR),
}
"""The statuses that count as applied where a policy applies one rule only."""


class RunnableRule(Protocol):
    """A compiled rule, for one kind of object."""

    @property
    def rule(self) -> Rule: ...

    @property
    def matches(self) -> Predicate: ...

    def run(self, base: Context, request: Request, facts: Facts, /) -> RuleResult | None:
        """Return the result for a request that matches; None if there is none."""


class RuleView:
    """A run as ClusterPolicies see it.

    In an admission, whole numbers of the object are int64 for patterns. Expressions see float64
    until the first rule of a policy that matches has run: Kyverno puts the object itself back
    then, and its JMESPath takes int64 for no number (`to_number`, `sum` and `>` of them fail).
    """

    __slots__ = ("_base", "_before_digests", "_facts", "_request", "_run")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._before_digests: Resource | None = None
        self.changed()

    def changed(self) -> None:
        run = self._run
        # An admission with the whole numbers of its object as int64; other requests unchanged.
        request = run.request
        is_marked = request.review is not None and request.unmarked is None
        if not is_marked or request.operation is Operation.DELETE:
            self._request = request
        else:
            try:
                given = request.resource.body
                if type(given) is dict:
                    body: Body = mark_literals(given)
                else:
                    from chartkit.engine.reads import RecordedObject

                    assert isinstance(given, RecordedObject)
                    body = given.converted(marked)
            except RecursionError:
                # Its rules say so.
                self._request = request
            else:
                resource = Resource(body, request.resource.location)
                self._request = replace(request, resource=resource, unmarked=request.resource)
        self._facts = Facts(run.request)
        self._base = context_of(run.request, run.world, run.budget)

    def evaluate(
        self,
        policy: Policy,
        scored: bool,
        rules: Sequence[RunnableRule],
        phase: Phase,
        results: list[RuleResult],
    ) -> None:
        """Run the rules of a policy that may match, in order."""
        run = self._run
        if run.request.variables or self._before_digests is not None:
            request, facts, base = self._seen_in(policy, phase)
        else:
            request, facts, base = self._request, self._facts, self._base
        timings = run.world.timings
        has_user = request.user is not None
        for rule in rules:
            if not rule.matches(facts) or (has_user and skipped_in_background(rule.rule, facts)):
                continue
            if timings is None:
                result = rule.run(base, request, facts)
            else:
                run_once = partial(rule.run, base, request, facts)
                result = timings.rule(policy.id, rule.rule.name, run_once)
            if request.review is not None and base is self._base and phase is not Phase.GENERATE:
                base = context_of(request, run.world, run.budget)
            if result is None:
                continue
            result = run.record(result, scored, results)
            if result.patched is not None:
                if phase is Phase.IMAGES and self._before_digests is None:
                    self._before_digests = request.resource
                if not result.patched:
                    break
                request, facts, base = self._seen_in(policy, phase)
            if policy.apply_one and result.status in _APPLIED[phase]:
                break
        if phase is Phase.MUTATE and request.review is not None:
            # Later policies of an admission see the object as this one left it.
            self._base = base

    def is_sent(
        self, policy: Policy, webhook: WebhookConditions, results: list[RuleResult]
    ) -> bool:
        """Report whether an API server sends the request; one that it refuses to decide is an
        error."""
        run = self._run
        try:
            from chartkit.engine.cel_policies.scope import Attributes

            return webhook.hold(Attributes(replace(run.request, resource=run.unmarked)))
        except EvaluationError as error:
            results.append(
                RuleResult(policy.key, "", RuleType.VALIDATION, Status.ERROR, error.message)
            )
            return False

    def _seen_in(self, policy: Policy, phase: Phase) -> tuple[Request, Facts, Context]:
        """Return the request as a policy sees it in a phase: in a cluster all rules that verify
        images see those from before any of them added a digest."""
        # The request as a policy sees it: a user's values may change the object.
        variables = self._run.request.variables.get(policy.name)
        if not variables:
            request, facts, base = self._run.request, self._facts, self._base
        else:
            seen_request, seen_facts, seen_base = self._operated(given_operation(variables))
            seen_base = seen_base.child()
            seen_base.add_variables(variables)
            seen = seen_base.data.get("request")
            key = "oldObject" if seen_request.operation is Operation.DELETE else "object"
            body = seen.get(key) if isinstance(seen, dict) else None
            if body is seen_request.resource.body or not isinstance(body, dict):
                request, facts, base = seen_request, seen_facts, seen_base
            else:
                resource = Resource(body, seen_request.resource.location)
                seen_request = replace(seen_request, resource=resource, unmarked=None)
                request, facts, base = seen_request, Facts(seen_request), seen_base
        if phase is Phase.IMAGES and self._before_digests is not None:
            request = replace(request, before_digests=self._before_digests)
        return request, facts, base

    def _operated(self, operation: Operation | None) -> tuple[Request, Facts, Context]:
        """Return the request with the operation that the user gave for a policy, if any."""
        run = self._run
        request = run.request
        if operation is None or operation is request.operation:
            return request, self._facts, self._base
        old = (request.old or request.resource) if operation is Operation.UPDATE else None
        request = replace(request, operation=operation, old=old)
        return request, Facts(request), context_of(request, run.world, run.budget)


def skipped_in_background(rule: Rule, facts: Facts) -> bool:
    """Report whether a rule for the background controller leaves out what that controller itself
    does (`skipBackgroundRequests` of `pkg/webhooks/resource/utils.go`)."""
    if facts.user is None or facts.user.name != BACKGROUND_CONTROLLER:
        return False
    return rule.kind in _IN_BACKGROUND and rule.skip_background_requests


def context_of(request: Request, world: World = OFFLINE, budget: Budget | None = None) -> Context:
    """Return the data that expressions see of a request, without copying it."""
    body = request.resource.body
    deleted = request.operation is Operation.DELETE
    old = body if deleted else request.old.body if request.old is not None else None
    return admission_context(
        None if deleted else body,
        old=old,
        operation=str(request.operation),
        namespace=request.resource.namespace,
        user=_user_info(request.user) if request.user is not None else None,
        review=request.review,
        world=world,
        budget=budget,
    )


def _user_info(user: User) -> Mapping[str, Json]:
    """Return a user as Kyverno puts it next to the object, without empty fields."""
    info: Body = {"userInfo": user.info()}
    if user.roles:
        info["roles"] = list(user.roles)
    if user.cluster_roles:
        info["clusterRoles"] = list(user.cluster_roles)
    return info


_UNMET: Final = "preconditions not met"
_EXCEPTED: Final = "rule is skipped due to policy exceptions"
"""The names follow without a space, as Kyverno prints them."""
_EXCEPTED_GENERATION: Final = "rule is skipped due to policy exception "
_TOO_DEEP: Final = "the object or the policy is nested too deep"


class RuleBody(NamedTuple):
    """The part of a rule that is the same for every kind of object. has_context: it has its own
    context entries; properties: the properties of its results in reports."""

    entries: ContextEntries
    preconditions: Conditions | None
    handle: Handler
    properties: Template | None
    has_context: bool


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule for one kind of object, ready to run."""

    rule: Rule
    policy: str
    matches: Predicate
    exceptions: tuple[BoundException, ...]
    body: RuleBody

    def run(self, base: Context, request: Request, facts: Facts) -> RuleResult | None:
        """Return the result for a request that matches, if any. Never raises because of the policy
        or the object."""
        try:
            result = self._run(base, request, facts)
        except ChartkitError as error:
            result = self._answer(Status.ERROR, error.message)
        except RecursionError:
            result = self._answer(Status.ERROR, _TOO_DEEP)
        budget = base.budget
        if budget.whole - budget.steps > FEW or budget.bytes_left != budget.whole_bytes:
            # The result of a rule that has taken much; an error where it was too much.
            problem = budget.end()
            if problem is None:
                return result
            result = self._answer(Status.ERROR, problem.message)
            return replace(result, patched={}) if self.rule.kind is RuleKind.MUTATE else result
        budget.steps = budget.whole
        return result

    def _run(self, base: Context, request: Request, facts: Facts) -> RuleResult | None:
        if request.operation is Operation.DELETE and self.rule.kind is RuleKind.MANIFESTS:
            return None
        body = self.body
        context = base
        if body.has_context or base.world.mocks is not OFFLINE.mocks:
            context = base.child()
            with Reraise("failed to load context: "):
                self.body.entries.attach(context)
        if body.preconditions is not None:
            unmet = self._unmet(body.preconditions, context)
            if unmet is not None:
                return unmet
        result = self._handle(context, request, facts)
        if result is None:
            return None
        is_unplaced = result.status is Status.FAIL and not result.fields and base.world.wants_fields
        if is_unplaced and self.rule.validate.deny is not None:
            result = replace(result, fields=self._applied_by(context, request, facts))
        if body.properties is None:
            return result
        properties = body.properties
        # The result with the rule's properties, substituted if all of them can be.
        try:
            texts = properties.resolve(context)
        except ChartkitError:
            texts = properties.value
        if not all(isinstance(text, str) for text in texts.values()):
            texts = properties.value
        return with_properties(result, texts)

    def _handle(self, context: Context, request: Request, facts: Facts) -> RuleResult | None:
        handle = self.body.handle
        if not self.exceptions:
            return handle(context, request)
        applying = tuple(item.exception for item in self.exceptions if item.applies(facts, context))
        if not applying:
            return handle(context, request)
        if isinstance(handle, ExceptedHandler):
            return handle.excepted(context, request, applying)
        return self._excepted(applying)

    def _applied_by(self, context: Context, request: Request, facts: Facts) -> tuple[str, ...]:
        """The fields by which a rule that refuses everything applies to an object."""
        from chartkit.engine.context.origins import pointers

        conditions, resource = self.body.preconditions, request.resource
        if conditions is not None:
            met = Checked(Status.FAIL, "", conditions.fields)
            if fields := met.pointers(context, resource.body):
                return fields
        kind = request.kind or kind_of(resource)
        return pointers(matched_fields(self.rule.match, facts, kind, request.subresource))

    def _unmet(self, conditions: Conditions, context: Context) -> RuleResult | None:
        try:
            outcome = conditions.ask(context)
        except ChartkitError as error:
            raise EvaluationError(f"failed to evaluate preconditions: {error.message}") from error
        if outcome.holds:
            return None
        message = f"{_UNMET}; {outcome.message}" if outcome.message else _UNMET
        return self._answer(Status.SKIP, message)

    def _excepted(self, exceptions: Sequence[PolicyException]) -> RuleResult:
        keys = [exception.key for exception in exceptions]
        text = _EXCEPTED_GENERATION if self.rule.kind is RuleKind.GENERATE else _EXCEPTED
        names = ",".join(key.rpartition("/")[2] for key in keys)
        result = self._answer(Status.SKIP, text + ", ".join(keys))
        return replace(result, properties={**result.properties, "exceptions": names})

    def _answer(self, status: Status, message: str) -> RuleResult:
        rule = self.rule
        result = RuleResult(self.policy, rule.name, rule.kind.type, status, message)
        return with_properties(result, rule.properties) if rule.properties else result


def with_properties(result: RuleResult, properties: Mapping[str, str]) -> RuleResult:
    """Return a result with the properties of its rule, which may replace its message."""
    message = properties.get(f"{result.status}Message") or result.message
    return replace(
        result,
        message=properties.get("message") or message,
        properties={**properties, **result.properties},
    )
