"""Runs compiled policies on one request, in admission order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from chartkit.engine.budget import Budget, BudgetError, check_object
from chartkit.engine.cel_policies.attributes import Attributes
from chartkit.engine.cluster_policy.compile import CompiledPolicy
from chartkit.engine.cluster_policy.match import Facts
from chartkit.engine.cluster_policy.policy import RuleKind
from chartkit.engine.context.context import Context, admission_context
from chartkit.engine.kubernetes.kinds import is_custom, kind_of
from chartkit.engine.policies import AnyPolicy
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request.phase import Phase
from chartkit.engine.request.request import Operation, Request, User
from chartkit.errors import EvaluationError
from chartkit.go.int64 import mark_literals
from chartkit.model import Body, Json, Resource, RuleResult, RuleType, Status

if TYPE_CHECKING:
    from chartkit.engine.cel_policies.compile import CompiledCelPolicy
    from chartkit.engine.cel_policies.images.evidence import RequestEvidence
    from chartkit.engine.cel_policies.judging import Admission, Judge
    from chartkit.engine.cel_policies.policy import CelPolicy
    from chartkit.engine.cluster_policy.policy import Rule
    from chartkit.engine.cluster_policy.webhook_conditions import WebhookConditions


@dataclass(frozen=True, slots=True)
class PolicyResponse:
    """What one policy says of a request in one phase.

    resource, patched: the object as the policy's first rule saw it and as its last rule left it;
    results: those of the rules that match, in order; form: of a CEL policy the one that spoke, the
    policy itself or one made of it for pod controllers.
    """

    policy: AnyPolicy
    phase: Phase
    resource: Resource
    patched: Resource
    results: tuple[RuleResult, ...]
    form: CelPolicy | None = None


def evaluate(
    policies: Sequence[AnyPolicy], request: Request, world: World = OFFLINE
) -> list[RuleResult]:
    """What every rule that matches says: mutation first, then images, validation, generation.

    Never raises for what a policy or a resource holds: that becomes `Status.ERROR` of the rule.
    A failure of a policy that is not scored is a warning.
    """
    results: list[RuleResult] = []
    run = _Run(request, world)
    for phase in Phase:
        for policy in policies:
            if phase in policy.phases:
                run.policy(policy, phase, results)
    return run.settled(results)


def respond(
    policies: Sequence[AnyPolicy], request: Request, world: World = OFFLINE
) -> list[PolicyResponse]:
    """As `evaluate`, by phase, policy and form; a policy of which no rule matches has no
    results."""
    run = _Run(request, world)
    responses = [
        response
        for phase in Phase
        for policy in policies
        if phase in policy.phases
        for response in run.responses(policy, phase)
    ]
    return [replace(one, results=tuple(run.settled(one.results))) for one in responses]


class _Run:
    """One request on its way through the phases."""

    __slots__ = (
        "_admissions",
        "_base",
        "_budget",
        "_common",
        "_evidence",
        "_facts",
        "_is_custom",
        "_named",
        "_plain",
        "_unscored",
        "kind",
        "request",
        "world",
    )

    def __init__(self, request: Request, world: World) -> None:
        self.world = world
        self.kind = request.kind or kind_of(request.resource)
        self._is_custom = is_custom(self.kind)
        self._named: Resource | None = None
        self._evidence: RequestEvidence | None = None
        self._unscored: set[str] = set()
        self._budget = Budget()
        self._take(request, request.resource)

    def _take(self, request: Request, plain: Resource) -> None:
        """request: as JMESPath sees it; plain: its object without marks at its numbers."""
        self.request = request
        self._plain = plain
        self._facts = Facts(request)
        self._base = context_of(request, self.world, self._budget)
        self._admissions: dict[tuple[str, Operation], Admission] = {}
        self._common: Admission | None = None

    def policy(self, policy: AnyPolicy, phase: Phase, results: list[RuleResult]) -> None:
        """Runs a policy's rules of a phase; an object that a rule patched goes on to the next."""
        if isinstance(policy, CompiledPolicy):
            self._rules(policy, phase, results)
        else:
            admission = self._admission(policy)
            made: list[RuleResult] = []
            for judge in policy.judges_of(admission.attributes):
                if judge.phase in (None, phase):
                    admission = self._judge(policy, judge, admission, made)
            if phase is Phase.IMAGES:
                # Kyverno reports no digest that was added, only those that could not be.
                made = [one for one in made if one.status is not Status.PASS]
            results += made

    def responses(self, policy: AnyPolicy, phase: Phase) -> Iterator[PolicyResponse]:
        """As `policy`, with what each form says by itself."""
        results: list[RuleResult] = []
        before = self.request.resource
        if isinstance(policy, CompiledPolicy):
            self._rules(policy, phase, results)
            after = self.request.resource
            yield PolicyResponse(policy, phase, before, after, tuple(results))
            return
        admission = self._admission(policy)
        for judge in policy.judges:
            if judge.phase not in (None, phase):
                continue
            results = []
            before = self.request.resource
            admission = self._judge(policy, judge, admission, results)
            after = self.request.resource
            yield PolicyResponse(policy, phase, before, after, tuple(results), judge.policy)

    def _judge(
        self,
        policy: CompiledCelPolicy,
        judge: Judge,
        admission: Admission,
        results: list[RuleResult],
    ) -> Admission:
        """What the next form sees: the admission, or another where this one patched the object."""
        if not self.request.resource.body:
            return admission
        if self.request.is_json and not policy.policy.json:
            return admission
        result = judge.run(admission)
        if result is None:
            return admission
        if result.patched:
            result = _sized(result)
        if not policy.scored:
            self._unscored.add(result.policy_id)
        result = _reported(result, policy.scored)
        results += (replace(result, others=()), *result.others) if result.others else (result,)
        if result.patched is None:
            return admission
        self._patch(result.patched)
        return self._admission(policy)

    def _admission(self, policy: CompiledCelPolicy) -> Admission:
        """The request as the policy sees it, made once for all that see the same."""
        if self._common is not None:
            return self._common
        operation = self.request.operation
        if self.request.variables:
            given = self.request.variables.get(policy.policy.name) or _NOTHING_GIVEN
            if given.get(_OPERATION) is not None:
                operation = _operation(given[_OPERATION])
        key = (policy.plural(self.kind) if self._is_custom else "", operation)
        made = self._admissions.get(key)
        if made is None:
            from chartkit.engine.cel_policies.judging import admission

            old = self._plain if operation is Operation.UPDATE else None
            request = replace(
                self.request,
                resource=self._plain,
                operation=operation,
                old=self.request.old or old,
            )
            attributes = Attributes(request, key[0])
            made = self._admissions[key] = admission(attributes, self.world, self._evidence)
            self._evidence = made.evidence
        if not (self.request.variables or self._is_custom):
            self._common = made
        return made

    def settled(self, results: Sequence[RuleResult]) -> list[RuleResult]:
        """The results as they are once all policies have been asked."""
        evidence = self._evidence
        if evidence is None:
            return list(results)
        return [self._settled(one, evidence) for one in results]

    def _settled(self, result: RuleResult, evidence: RequestEvidence) -> RuleResult:
        settled = evidence.settled(result)
        if settled is result:
            return result
        return _reported(settled, result.policy_id not in self._unscored)

    def _patch(self, body: Body) -> None:
        # Kyverno reads it anew, and whole numbers become int64.
        where = self.request.resource.location
        marked, plain = Resource(mark_literals(body), where), Resource(body, where)
        self._take(replace(self.request, resource=marked, plain=plain), plain)

    def _rules(self, policy: CompiledPolicy, phase: Phase, results: list[RuleResult]) -> None:
        if self.request.is_json:
            return
        rules = policy.rules_for(self.kind, self.request.subresource, phase)
        # A mutation that failed leaves nothing behind that could match.
        if not rules or not self.request.resource.body:
            return
        if self.request.variables or self._named is not None:
            request, facts, base = self._seen_in(policy, phase)
        else:
            request, facts, base = self.request, self._facts, self._base
        if policy.webhook is not None and not self._is_sent(policy, policy.webhook, results):
            return
        passes_over = request.user is not None and request.user.name == BACKGROUND_CONTROLLER
        for rule in rules:
            if not rule.matches(facts) or (passes_over and _is_passed_over(rule.rule)):
                continue
            result = rule.run(base, request, facts)
            if result is None:
                continue
            if result.patched:
                result = _sized(result)
            if result.properties or not policy.scored:
                result = _reported(result, policy.scored)
            results.append(result)
            if result.others:
                results[-1:] = (replace(result, others=()), *result.others)
            if result.patched is not None:
                if phase is Phase.IMAGES and self._named is None:
                    self._named = request.resource
                self._patch(result.patched)
                if not result.patched:
                    break
                request, facts, base = self._seen_in(policy, phase)
            if policy.policy.apply_one and result.status in _APPLIED[phase]:
                break

    def _is_sent(
        self, policy: CompiledPolicy, webhook: WebhookConditions, results: list[RuleResult]
    ) -> bool:
        """Whether an API server sends the request; one that it refuses to decide is an error."""
        try:
            return webhook.hold(Attributes(replace(self.request, resource=self._plain)))
        except EvaluationError as error:
            key, text = policy.policy.key, error.message
            results.append(RuleResult(key, "", RuleType.VALIDATION, Status.ERROR, text))
            return False

    def _seen_in(self, policy: CompiledPolicy, phase: Phase) -> tuple[Request, Facts, Context]:
        """The request as a policy sees it in a phase: in a cluster all rules that verify images
        see those that there were before any of them added a digest."""
        request, facts, base = self._seen_by(policy)
        if phase is Phase.IMAGES and self._named is not None:
            request = replace(request, named=self._named)
        return request, facts, base

    def _seen_by(self, policy: CompiledPolicy) -> tuple[Request, Facts, Context]:
        """The request as a policy sees it: values that the user gave may change the object."""
        variables = self.request.variables.get(policy.policy.name)
        if not variables:
            return self.request, self._facts, self._base
        request, facts, base = self._operated(variables.get(_OPERATION))
        base = base.child()
        base.add_variables(variables)
        seen = base.data.get("request")
        key = "oldObject" if request.operation is Operation.DELETE else "object"
        body = seen.get(key) if isinstance(seen, dict) else None
        if body is request.resource.body or not isinstance(body, dict):
            return request, facts, base
        resource = Resource(body, request.resource.location)
        request = replace(request, resource=resource, plain=None)
        return request, Facts(request), base

    def _operated(self, given: Json) -> tuple[Request, Facts, Context]:
        """The request with the operation that the user gave for a policy, where there is one."""
        request = self.request
        operation = _operation(given)
        if given is None or operation is request.operation:
            return request, self._facts, self._base
        old = (request.old or request.resource) if operation is Operation.UPDATE else None
        request = replace(request, operation=operation, old=old)
        return request, Facts(request), context_of(request, self.world, self._budget)


def _sized(result: RuleResult) -> RuleResult:
    """The result of a mutation; an error where it made an object that no API server takes."""
    try:
        check_object(result.patched, "the mutated object")
    except BudgetError as error:
        patched: Body | None = None if result.kind else {}
        return replace(result, status=Status.ERROR, message=error.message, patched=patched)
    return result


def _is_passed_over(rule: Rule) -> bool:
    """Whether a rule for the background controller leaves out what that controller itself does
    (`skipBackgroundRequests` of `pkg/webhooks/resource/utils.go`)."""
    return rule.kind in _IN_BACKGROUND and rule.skip_background_requests


BACKGROUND_CONTROLLER: Final = "system:serviceaccount:kyverno:kyverno-background-controller"
"""The user that generates objects and changes existing ones, as Kyverno's chart names it."""
_IN_BACKGROUND: Final = frozenset({RuleKind.GENERATE, RuleKind.MUTATE_EXISTING})


def _reported(result: RuleResult, scored: bool) -> RuleResult:
    """As Kyverno reports it: a property may give the message, and what is not scored only warns."""
    if result.properties:
        properties = result.properties
        text = properties.get("message") or properties.get(f"{result.status}Message")
        if text:
            result = replace(result, message=text)
    if result.status is Status.FAIL and not scored:
        return replace(result, status=Status.WARN)
    return result


def _operation(given: Json) -> Operation:
    """Kyverno's programs match all but two operations as CREATE."""
    return Operation(given) if given in _MATCHED else Operation.CREATE


_NOTHING_GIVEN: Final[Mapping[str, Json]] = {}
_OPERATION: Final = "request.operation"
_MATCHED: Final = (Operation.UPDATE, Operation.DELETE)
_DECIDED: Final = (Status.PASS, Status.FAIL, Status.WARN)
_APPLIED: Final = {
    Phase.MUTATE: _DECIDED,
    Phase.IMAGES: _DECIDED,
    Phase.VALIDATE: _DECIDED,
    Phase.GENERATE: (*_DECIDED, Status.ERROR),
}
"""What counts as applied where a policy applies one rule alone."""


def context_of(request: Request, world: World = OFFLINE, budget: Budget | None = None) -> Context:
    """What expressions see of a request; nothing of it is copied. budget: that of its rules."""
    body = request.resource.body
    deleted = request.operation is Operation.DELETE
    old = body if deleted else request.old.body if request.old is not None else None
    return admission_context(
        None if deleted else body,
        old=old,
        operation=str(request.operation),
        namespace=request.resource.namespace,
        user=_user_info(request.user) if request.user is not None else None,
        world=world,
        budget=budget,
    )


def _user_info(user: User) -> Mapping[str, Json]:
    """As Kyverno puts it beside the object: what is empty is not there."""
    seen: Body = {"userInfo": user.info()}
    if user.roles:
        seen["roles"] = list(user.roles)
    if user.cluster_roles:
        seen["clusterRoles"] = list(user.cluster_roles)
    return seen
