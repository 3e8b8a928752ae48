"""Why a form of a policy in CEL came to its result: the evaluations of its run, as decisions.

The run itself is observed (`cel.interpreter.program.observed`); nothing is evaluated again. The
fields of the specification are found by the texts of the programs that were evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.cel.interpreter.program import Evaluation
from chartkit.engine.cel_policies.autogen import obstacle, source_offset
from chartkit.engine.cel_policies.evaluator import Evaluator
from chartkit.engine.cel_policies.exceptions import RULE as EXCEPTION_RULE
from chartkit.engine.cel_policies.exceptions import CelException
from chartkit.engine.cel_policies.expression_reasons import Expressions, Texts
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.kubernetes.kinds import CONTROLLERS, CelKind
from chartkit.engine.why import Asked, Decision, RuleDecision
from chartkit.model import (
    FieldPath,
    Location,
    RuleResult,
    Status,
    path_text,
    pointed_at,
    pointer_of,
    single_line,
)
from chartkit.safe_text import shown

_CONDITIONS: Final = ("matchConditions", "conditions", "targetMatchConditions")
_DECIDING: Final = ("validations", "mutations", "generate")


def form_decision(
    evaluator: Evaluator,
    attributes: Attributes,
    results: Sequence[RuleResult],
    evaluations: Sequence[Evaluation],
    exceptions: Sequence[CelException] = (),
) -> RuleDecision:
    """Return what decided the result of one form of a policy for a request.

    results: what it said, none for nothing; evaluations: those of its run, in order.
    """
    policy = evaluator.policy
    result = results[0] if results else None
    status, message = (None, "") if result is None else (result.status, result.message)
    rule = policy.form or getattr(evaluator, "binding", "")
    if not policy.json:
        match = evaluator.why_match(attributes)
        if match.asked is not Asked.MATCH or not match.holds:
            return RuleDecision(policy.id, rule, status, match, message)
    locations = evaluator.locations

    def locate(*key: *tuple[FieldPath, str, int]) -> Location:
        if key not in locations:
            locations[key] = _location(policy, *key)
        return locations[key]

    texts = Texts(policy.spec, locate, exceptions)
    expressions = Expressions(texts, evaluations, attributes, not policy.of_templates)
    decision = _Why(policy, expressions).decision(result)
    return RuleDecision(policy.id, rule, status, decision, message)


def _location(policy: CelPolicy, path: FieldPath, text: str, offset: int) -> Location:
    """Return the location of a character of an expression as it was evaluated."""
    location, pointer = policy.resource.location, pointer_of("spec", *path)
    written = pointed_at(policy.resource.body, ("spec", *map(str, path)))
    if not isinstance(written, str):
        return location.within(pointer)
    at = offset if written == text else source_offset(written, text, policy.template, offset)
    return location.within(pointer) if at is None else location.character(pointer, at)


@dataclass(frozen=True, slots=True)
class _Why:
    """A form of a policy, and the evaluations of its run."""

    policy: CelPolicy
    expressions: Expressions

    def decision(self, result: RuleResult | None) -> Decision:
        """Return what decided, with the exceptions that did not apply at the end of its parts."""
        deciding = self._deciding(result)
        if result is not None and result.rule != EXCEPTION_RULE and result.status in _FAILED:
            lapsed = (asking for asking in self.expressions.asked if asking.exception is not None)
            more = [
                self.expressions.decision(asking)
                for asking in lapsed
                if asking.evaluation.outcome is not True
            ]
            return replace(deciding, parts=(*deciding.parts, *more))
        return deciding

    def _deciding(self, result: RuleResult | None) -> Decision:
        if result is not None and result.rule == EXCEPTION_RULE:
            return self._excepted(result)
        own = [asking for asking in self.expressions.asked if asking.exception is None]
        conditions = [asking for asking in own if asking.list in _CONDITIONS]
        refusing = [asking for asking in conditions if asking.evaluation.outcome is False]
        if refusing:
            return self.expressions.decision(refusing[-1])
        if result is None or result.status is Status.SKIP:
            failing = [asking for asking in conditions if asking.error is not None]
            if not failing:
                return self._said(result)
            failure = self.expressions.decision(failing[-1])
            return replace(failure, text=f"{failure.text} (failurePolicy is Ignore)")
        deciding = [asking for asking in own if asking.list in _DECIDING]
        asked = [asking for asking in deciding if asking.path[-1] == "expression"]
        if result.status is Status.ERROR:
            # The decision of an error: an expression without value, or the last one asked, whose
            # value is of no use.
            failing = [asking for asking in self.expressions.asked if asking.error is not None]
            named = [asking for asking in failing if asking.list != "variables"] or failing
            if named:
                return self.expressions.decision(named[-1])
            if result.message.startswith("compilation error"):
                path = next(self._unevaluated(), ())
                where = self.policy.resource.location.within(pointer_of("spec", *path))
                return replace(self._said(result), asked=Asked.EXPRESSION, location=where)
            if not asked:
                return self._said(result)
            return replace(
                self.expressions.decision(asked[-1]), holds=None, text=single_line(result.message)
            )
        if result.status in _FAILED:
            failing = [asking for asking in asked if asking.evaluation.outcome is False]
            lifting = [asking for asking in self.expressions.asked if asking.exception is not None]
            if not failing and self.policy.kind is CelKind.DELETING and lifting:
                return self.expressions.decision(lifting[-1])
            if not failing:
                return self._said(result)
            return self.expressions.decision(failing[-1], result.fields)
        asked_check = asked or conditions
        if len(asked_check) == 1:
            return self.expressions.decision(asked_check[0])
        if not asked_check:
            return self._said(result)
        parts = tuple(self.expressions.decision(asking) for asking in asked_check)
        name = asked_check[0].list
        is_true = all(asking.evaluation.outcome is True for asking in asked_check)
        verb = "are true" if is_true else "were evaluated"
        text = f"all {len(asked_check)} expressions of {name} {verb}"
        where = self.policy.resource.location.within(pointer_of("spec", asked_check[0].list))
        return Decision(Asked.RULE, True, text, where, parts=parts)

    def _unevaluated(self) -> Iterator[FieldPath]:
        """The paths of entries without an evaluation: of the first, it does not compile."""
        evaluated = {asking.path[:2] for asking in self.expressions.asked}
        for name in ("matchConditions", "validations", "mutations"):
            for at, entry in enumerate(self.policy.spec.get(name) or ()):
                if (name, at) not in evaluated:
                    yield (name, at, "expression") if "expression" in entry else (name, at)

    def _said(self, result: RuleResult | None) -> Decision:
        """The decision for a result that no expression decided."""
        where = self.policy.resource.location
        if result is None:
            text = "the policy says nothing of the object"
            if self.policy.spec.get("paramKind"):
                text = "there are no parameters, and parameterNotFoundAction is Allow"
                return Decision(Asked.PARAMETER, False, text, where)
            return Decision(Asked.RULE, False, text, where)
        asked, field = Asked.RULE, result.fields[0] if result.fields else None
        if self.policy.kind is CelKind.IMAGE_VALIDATING and field is not None:
            asked = Asked.IMAGE
        holds = {Status.PASS: True, Status.ERROR: None}.get(result.status, False)
        return Decision(asked, holds, single_line(result.message), where, field)

    def _excepted(self, result: RuleResult) -> Decision:
        names = result.properties.get("exceptions", "").split(",")
        where: Location | None = None
        parts: list[Decision] = []
        for asking in self.expressions.asked:
            if asking.exception is not None and asking.exception.name in names:
                where = where or asking.exception.location
                parts.append(self.expressions.decision(asking))
        where, text = where or self.policy.resource.location, single_line(result.message)
        return Decision(Asked.EXCEPTION, True, text, where, parts=tuple(parts))


_FAILED: Final = (Status.FAIL, Status.WARN)


def unmatched_decision(evaluator: Evaluator, attributes: Attributes) -> RuleDecision:
    """The reason why no form of a policy matches a kind of requests; evaluator: the
    policy's own."""
    policy = evaluator.policy
    match = evaluator.why_match(attributes)
    reason = _unextended(policy, attributes)
    if reason is not None:
        path, cause = reason
        where = policy.resource.location.within(pointer_of("spec", *path))
        text = f"{match.text}, and the policy has no form for {attributes.resource}: {cause}"
        match = Decision(Asked.AUTOGEN, False, text, where, match.pointer, match.value, (match,))
    return RuleDecision(policy.id, "", None, match)


def _unextended(policy: CelPolicy, attributes: Attributes) -> tuple[FieldPath, str] | None:
    """Return the path and cause for which a policy about Pods has no form for a pod controller;
    None for other objects and policies."""
    kind = (attributes.group, attributes.resource)
    constraints = policy.constraints
    extendable = {(controller.group, controller.plural) for controller in CONTROLLERS}
    if constraints is None or kind not in extendable:
        return None
    is_about_pods = any("pods" in rule.resources for rule in constraints.rules)
    if policy.kind not in _EXTENDED or not is_about_pods:
        return None
    if reason := obstacle(constraints):
        return ("matchConstraints", *reason[0]), reason[1]
    named = shown(", ".join(policy.controllers or ())) or "empty"
    path = ("autogen", "podControllers", "controllers")
    return path, f"{path_text(path)} is {named}"


_EXTENDED: Final = (CelKind.VALIDATING, CelKind.MUTATING, CelKind.IMAGE_VALIDATING)
