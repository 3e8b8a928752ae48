"""CEL policies in a run: what they see of the request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chartkit.engine.cel_policies.attributes import Attributes
from chartkit.engine.cel_policies.judging import Admission, Judge, admission
from chartkit.engine.kubernetes.kinds import is_custom
from chartkit.engine.request.request import Operation, given_operation

if TYPE_CHECKING:
    from chartkit.engine.cel_policies.compile import CompiledCelPolicy
    from chartkit.engine.cel_policies.images.evidence import RequestEvidence
    from chartkit.engine.request.run import Run
    from chartkit.model import RuleResult


class CelView:
    """A run as CEL policies see it."""

    __slots__ = ("_admissions", "_common", "_evidence", "_is_custom", "_run")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._is_custom = is_custom(run.kind)
        self._evidence: RequestEvidence | None = None
        self.changed()

    def changed(self) -> None:
        self._admissions: dict[tuple[str, Operation], Admission] = {}
        self._common: Admission | None = None

    def evaluate(
        self,
        policy: CompiledCelPolicy,
        judge: Judge,
        admission: Admission,
        results: list[RuleResult],
    ) -> Admission:
        """Run one form of a policy, and return the admission that the next one sees: another
        where this one patched the object."""
        run = self._run
        if not run.request.resource.body or (run.request.is_json and not policy.judges_json):
            return admission
        result = judge.run(admission)
        if result is None:
            return admission
        result = run.record(result, policy.scored, results)
        return admission if result.patched is None else self.admission(policy)

    def admission(self, policy: CompiledCelPolicy) -> Admission:
        """Return the request as a policy sees it, made once for all that see the same."""
        if self._common is not None:
            return self._common
        run = self._run
        request = run.request
        given = given_operation(request.variables.get(policy.policy.name) or {})
        operation = request.operation if given is None else given
        key = (policy.plural(run.kind) if self._is_custom else "", operation)
        made = self._admissions.get(key)
        if made is None:
            old = request.old or (run.plain if operation is Operation.UPDATE else None)
            request = replace(request, resource=run.plain, operation=operation, old=old)
            made = admission(Attributes(request, key[0]), run.world, self._evidence)
            self._admissions[key] = made
            self._evidence = made.evidence
            run.settle = made.evidence.settled
        if not (request.variables or self._is_custom):
            self._common = made
        return made
