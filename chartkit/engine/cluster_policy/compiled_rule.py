"""A compiled rule and how it runs: its context, its preconditions, its exceptions, its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.budget import FEW
from chartkit.engine.cluster_policy.conditions import Conditions
from chartkit.engine.cluster_policy.exceptions import BoundException, PolicyException
from chartkit.engine.cluster_policy.handler import Checked, ExceptedHandler, Handler
from chartkit.engine.cluster_policy.match import Facts, Predicate, matched_fields
from chartkit.engine.cluster_policy.policy import Rule, RuleKind
from chartkit.engine.context.context import Context
from chartkit.engine.context.entries import ContextEntries
from chartkit.engine.context.variables import Template
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.engine.ports.world import OFFLINE
from chartkit.engine.request import Operation, Request
from chartkit.errors import ChartkitError, EvaluationError, Reraise
from chartkit.model import RuleResult, Status

_UNMET: Final = "preconditions not met"
_EXCEPTED: Final = "rule is skipped due to policy exceptions"
"""The names follow without a space, as Kyverno prints them."""
_EXCEPTED_GENERATION: Final = "rule is skipped due to policy exception "
_TOO_DEEP: Final = "the object or the policy is nested too deep"


@dataclass(frozen=True, slots=True)
class RuleBody:
    """The part of a rule that is the same for every kind of object. has_context: it has context
    entries of its own; properties: those of its results in reports."""

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
        """Return the result for a request that matches; None for none. Never raises because of the
        policy or the object."""
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
        if body.has_context or base.world is not OFFLINE:
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
        is_unplaced = result.status is Status.FAIL and not result.fields
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
        return _with_properties(result, texts)

    def _handle(self, context: Context, request: Request, facts: Facts) -> RuleResult | None:
        handle = self.body.handle
        if not self.exceptions:
            return handle(context, request)
        applying = tuple(one.exception for one in self.exceptions if one.applies(facts, context))
        if not applying:
            return handle(context, request)
        if isinstance(handle, ExceptedHandler):
            return handle.excepted(context, request, applying)
        return self._excepted(applying)

    def _applied_by(self, context: Context, request: Request, facts: Facts) -> tuple[str, ...]:
        """Return the fields by which a rule applies to an object, for one that refuses whatever it
        applies to."""
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
        return _with_properties(result, rule.properties) if rule.properties else result


def _with_properties(result: RuleResult, properties: Mapping[str, str]) -> RuleResult:
    message = properties.get(f"{result.status}Message") or result.message
    return replace(
        result,
        message=properties.get("message") or message,
        properties={**properties, **result.properties},
    )


@dataclass(frozen=True, slots=True)
class BackgroundRule(CompiledRule):
    """A generate rule for one kind of object. speaks: whether match and exclude fit."""

    speaks: Predicate

    def _run(self, base: Context, request: Request, facts: Facts) -> RuleResult | None:
        lifting = [one.exception for one in self.exceptions if one.applies(facts, base)]
        if lifting:
            return self._excepted(lifting)
        if not self.speaks(facts):
            return self._left(request)
        if request.operation is Operation.DELETE:
            raise EvaluationError(
                "what a deletion generates cannot be told: the object is gone",
                hint="generate rules are evaluated for CREATE and UPDATE",
            )
        context = base.child()
        try:
            self.body.entries.attach(context)
        except ChartkitError:
            return None
        unmet = self._unmet_now(context, request)
        if unmet is not None:
            return unmet
        result = self.body.handle(context, request)
        if result is None or not self.rule.properties:
            return result
        described = self._answer(result.status, result.message)
        return replace(
            described, generated=result.generated, updated=result.updated, unmade=result.unmade
        )

    def _left(self, request: Request) -> RuleResult | None:
        """Return the result for an object that the rule matched until this update."""
        if request.old is None:
            return None
        if self.speaks(Facts(replace(request, resource=request.old))):
            return self._answer(Status.FAIL, "")
        return None

    def _unmet_now(self, context: Context, request: Request) -> RuleResult | None:
        conditions = self.body.preconditions
        if conditions is None:
            return None
        with Reraise("failed to evaluate conditions: "):
            if conditions.ask(context).holds:
                return None
        if request.old is None:
            return self._answer(Status.SKIP, "")
        before = context.child()
        seen = before.data["request"]
        before.set("request", {**seen, "object": request.old.body})
        with Reraise("failed to evaluate conditions for old resource: "):
            outcome = conditions.ask(before)
        return self._answer(Status.FAIL if outcome.holds else Status.SKIP, "")
