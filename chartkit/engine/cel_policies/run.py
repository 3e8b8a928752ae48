"""Compiled CEL policies, and what they see of a request."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from chartkit.engine.cel.interpreter.program import observed
from chartkit.engine.cel_policies.attestors import RequestEvidence
from chartkit.engine.cel_policies.evaluator import Admission, Evaluator, admission
from chartkit.engine.cel_policies.exceptions import CelException
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.kubernetes.kinds import ADMISSION_KINDS, GroupVersionKind, is_custom
from chartkit.engine.request import AUDIT, ENFORCE, Operation, Phase, Request, Run, given_operation
from chartkit.engine.why import RuleDecision
from chartkit.model import Diagnostic, Json, RuleResult, Status


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
        evaluator: Evaluator,
        results: list[RuleResult],
    ) -> None:
        """Run one form of a policy on what the forms before it made of the object."""
        run = self._run
        is_json = run.request.is_json
        if not (policy.judges_json if is_json else run.request.resource.body):
            return
        admission = self.admission(policy)
        timings = admission.world.timings
        if timings is None:
            result = evaluator.run(admission)
        else:
            result = timings.rule(policy.policy.id, "", partial(evaluator.run, admission))
        if result is not None:
            run.record(result, policy.scored, results)

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
            old = request.old or (run.unmarked if operation is Operation.UPDATE else None)
            if run.unmarked is not request.resource or operation is not request.operation:
                request = replace(request, resource=run.unmarked, operation=operation, old=old)
            elif old is not request.old:
                request = replace(request, old=old)
            made = admission(Attributes(request, key[0]), run.world, self._evidence)
            self._admissions[key] = made
            self._evidence = made.evidence
            run.settle = made.evidence.settled
        if not (request.variables or self._is_custom):
            self._common = made
        return made


def _reported(phase: Phase, results: list[RuleResult]) -> list[RuleResult]:
    """The results that Kyverno reports: of a digest only that it could not be added."""
    if phase is not Phase.IMAGES:
        return results
    return [result for result in results if result.status is not Status.PASS]


_ASKING: Final = re.compile(r"\b(resource|globalContext|http|image\w*|params|[gG]etMetadata)\b")

_LITERAL: Final = re.compile(r"""'[^'\n]*'|"[^"\n]*\"""")
_ESCAPING: Final = re.compile(r"""\\|'''|\"{3}""")
"""The parts of an expression that texts in it may end elsewhere with than at the next quote."""


def _asks(value: Json) -> bool:
    """Report whether an expression in a policy may name what is not its object. The texts in an
    expression and the messages of a policy ask for nothing."""
    if isinstance(value, str):
        text = value if _ESCAPING.search(value) else _LITERAL.sub("", value)
        return _ASKING.search(text) is not None
    if isinstance(value, dict):
        value = [member for key, member in value.items() if key != "message"]
    return isinstance(value, list) and any(map(_asks, value))


@dataclass(frozen=True, slots=True)
class CompiledCelPolicy:
    """A policy that is ready to run: itself, and its forms for pod controllers."""

    policy: CelPolicy
    phases: frozenset[Phase]
    evaluators: tuple[Evaluator, ...]
    scored: bool = True
    exceptions: tuple[CelException, ...] = ()
    _by_kind: dict[tuple[str, ...], tuple[Evaluator, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _warned: list[tuple[Diagnostic, ...]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @property
    def judges_json(self) -> bool:
        return self.policy.json

    @property
    def runs_in_api_server(self) -> bool:
        return self.policy.kind in ADMISSION_KINDS

    @property
    def source(self) -> str:
        kind = self.policy.kind
        return kind.value if kind in ADMISSION_KINDS else f"Kyverno{kind}"

    def action(self, _rule: str, _namespace: str, _labels: Mapping[str, str] | None = None) -> str:
        actions = self.actions
        return ENFORCE if not actions or "Deny" in actions else AUDIT

    def warnings(self) -> tuple[Diagnostic, ...]:
        if not self._warned:
            self._warned.append(self._warnings())
        return self._warned[0]

    def _warnings(self) -> tuple[Diagnostic, ...]:
        from chartkit.engine.cel_policies.checks import (
            cluster_refusals,
            refused_by_server,
            without_effect,
        )
        from chartkit.engine.cel_policies.unmatched import (
            misspelt_fields,
            misspelt_resources,
            unmatched,
        )

        checks = (
            cluster_refusals,
            without_effect,
            refused_by_server,
            misspelt_resources,
            misspelt_fields,
            unmatched,
        )
        return tuple(diagnostic for check in checks for diagnostic in check(self.policy))

    def rules_in(self, phases: Collection[Phase]) -> tuple[str, ...]:
        return () if self.phases.isdisjoint(phases) else ("",)

    def concerns(self, request: Request) -> bool:
        return bool(self.evaluators_of(Attributes(request)))

    def run_phase(self, run: Run, phase: Phase, results: list[RuleResult]) -> None:
        view = run.view(CelView)
        made: list[RuleResult] = []
        for evaluator in self.evaluators_of(view.admission(self).attributes):
            if evaluator.phase in (None, phase):
                view.evaluate(self, evaluator, made)
        results += _reported(phase, made)

    def why_phase(
        self, run: Run, phase: Phase, results: list[RuleResult]
    ) -> tuple[RuleDecision, ...]:
        from chartkit.engine.cel_policies.why import form_decision, unmatched_decision

        decisions: list[RuleDecision] = []
        view = run.view(CelView)
        for evaluator in self.evaluators_of(view.admission(self).attributes):
            if evaluator.phase not in (None, phase):
                continue
            made: list[RuleResult] = []
            asked = view.admission(self).attributes
            with observed() as evaluations:
                view.evaluate(self, evaluator, made)
            results += _reported(phase, made)
            if phase is not Phase.IMAGES or made:
                decisions.append(
                    form_decision(evaluator, asked, made, evaluations, self.exceptions)
                )
        if decisions or phase is Phase.IMAGES:
            return tuple(decisions)
        return (unmatched_decision(self.evaluators[0], view.admission(self).attributes),)

    def run_forms(self, run: Run, phase: Phase) -> Iterator[tuple[CelPolicy, list[RuleResult]]]:
        view = run.view(CelView)
        for evaluator in self.evaluators:
            if evaluator.phase in (None, phase):
                results: list[RuleResult] = []
                view.evaluate(self, evaluator, results)
                yield evaluator.policy, results

    def evaluators_of(self, attributes: Attributes) -> tuple[Evaluator, ...]:
        """The forms that may say something of a request, by its kind alone."""
        evaluators = self._by_kind.get(attributes.kind_key)
        if evaluators is None:
            evaluators = tuple(
                evaluator for evaluator in self.evaluators if evaluator.concerns(attributes)
            )
            self._by_kind[attributes.kind_key] = evaluators
        return evaluators

    @property
    def actions(self) -> tuple[str, ...]:
        """The effects of a failure, in any of its forms; none: the default, which is to deny."""
        return tuple(
            dict.fromkeys(action for evaluator in self.evaluators for action in evaluator.actions)
        )

    @property
    def looks_around(self) -> bool:
        spec = self.policy.spec
        if "paramKind" in spec or "mutateExisting" in (spec.get("evaluation") or {}):
            return True
        return _asks(spec)

    def plural(self, kind: GroupVersionKind) -> str:
        """The resource name of a custom kind, where the constraints tell it; else empty."""
        if not is_custom(kind):
            return ""
        lowered = kind.kind.lower()
        constraints = self.policy.constraints
        for rule in constraints.rules if constraints is not None else ():
            for resource in rule.resources:
                name = resource.partition("/")[0]
                if name.lower() == lowered:
                    return name
        return ""
