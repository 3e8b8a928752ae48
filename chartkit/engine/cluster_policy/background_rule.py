"""A compiled generate rule, run as Kyverno's background checks run it (`pkg/engine/background.go`).

Exceptions come before the match, an entry that cannot be prepared leaves no answer, preconditions
that do not hold leave no text, and an update is judged by the old object, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from chartkit.engine.cluster_policy.compiled_rule import CompiledRule
from chartkit.engine.cluster_policy.match import Facts, Predicate
from chartkit.engine.context.context import Context
from chartkit.engine.request.request import Operation, Request
from chartkit.errors import ChartkitError, EvaluationError
from chartkit.model import RuleResult, Status


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
        try:
            if conditions.evaluate(context).holds:
                return None
        except ChartkitError as error:
            raise EvaluationError(f"failed to evaluate conditions: {error.message}") from error
        if request.old is None:
            return self._answer(Status.SKIP, "")
        before = context.child()
        seen = before.data["request"]
        before.set("request", {**seen, "object": request.old.body})
        try:
            outcome = conditions.evaluate(before)
        except ChartkitError as error:
            raise EvaluationError(
                f"failed to evaluate conditions for old resource: {error.message}"
            ) from error
        return self._answer(Status.FAIL if outcome.holds else Status.SKIP, "")
