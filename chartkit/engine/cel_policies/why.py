"""Why a form of a policy in CEL came to its result: the evaluations of its run, as decisions.

The run itself is observed (`cel.interpreter.program.observed`); nothing is evaluated again. The
fields of the specification are found by the texts of the programs that were evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.cel.ast import Ident, nodes
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.explain import Part, Places, parts_of
from chartkit.engine.cel.interpreter.program import Evaluation
from chartkit.engine.cel.notation import notation
from chartkit.engine.cel.values import Value
from chartkit.engine.cel_policies.autogen import obstacle, source_offset
from chartkit.engine.cel_policies.evaluator import Evaluator
from chartkit.engine.cel_policies.exceptions import RULE as EXCEPTION_RULE
from chartkit.engine.cel_policies.exceptions import CelException
from chartkit.engine.cel_policies.expressions import sees_the_request_alone
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.kubernetes.kinds import CONTROLLERS, CelKind
from chartkit.engine.why import MISSING, Asked, Decision, RuleDecision
from chartkit.model import (
    FieldPath,
    Json,
    Location,
    RuleResult,
    Status,
    path_text,
    pointed_at,
    pointer_of,
    single_line,
    texts_below,
)
from chartkit.safe_text import shown
from chartkit.wording import shortened

_CONDITIONS: Final = ("matchConditions", "conditions", "targetMatchConditions")
_LISTED: Final = {
    "attestors": (Asked.EXPRESSION, "attestor"),
    "auditAnnotations": (Asked.EXPRESSION, "auditAnnotation"),
    "conditions": (Asked.MATCH_CONDITION, "condition"),
    "generate": (Asked.EXPRESSION, "generate"),
    "images": (Asked.IMAGE, "images"),
    "matchConditions": (Asked.MATCH_CONDITION, "matchCondition"),
    "mutations": (Asked.EXPRESSION, "mutation"),
    "targetMatchConditions": (Asked.MATCH_CONDITION, "targetMatchCondition"),
    "validations": (Asked.EXPRESSION, "validation"),
    "variables": (Asked.VARIABLE, "variable"),
}
"""The lists of a specification: the kind of check, and the name of an entry."""
_DECIDING: Final = ("validations", "mutations", "generate")
_OF_REQUEST: Final[dict[str, FieldPath]] = {
    "request.name": ("metadata", "name"),
    "request.namespace": ("metadata", "namespace"),
    "request.kind.kind": ("kind",),
    "request.kind.group": ("apiVersion",),
    "request.kind.version": ("apiVersion",),
}
_LONGEST_TEXT: Final = 100
_LONGEST_VALUE: Final = 60
_LARGEST_VALUE: Final = 1000
_OPEN_FIELDS: Final = ("apiVersion", "kind", "metadata", "type")
"""The fields of a Secret that are shown."""


@dataclass(frozen=True, slots=True)
class Asking:
    """An expression that was evaluated: the field that holds it, below `spec`, empty if unknown;
    exception: whose it is, None for the policy's own."""

    evaluation: Evaluation
    path: FieldPath
    exception: CelException | None = None

    @property
    def list(self) -> str:
        """Return the list of the policy's specification that it is in; empty for none."""
        return str(self.path[0]) if self.path and self.exception is None else ""

    @property
    def error(self) -> CelError | None:
        """Return why it has no value; None if it has one."""
        outcome = self.evaluation.outcome
        return outcome if isinstance(outcome, CelError) else None


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
    why = _Why(policy, attributes, evaluations, exceptions)
    return RuleDecision(policy.id, rule, status, why.decision(result), message)


class _Why:
    """The evaluations of one form, and what the decisions say of them."""

    def __init__(
        self,
        policy: CelPolicy,
        attributes: Attributes,
        evaluations: Sequence[Evaluation],
        exceptions: Sequence[CelException],
    ) -> None:
        self._policy = policy
        self._askings = list(_placed(policy, evaluations, exceptions))
        body = attributes.object or attributes.old or {}
        current = "oldObject" if attributes.object is None else "object"
        names = {current: (), f"request.{current}": (), **_OF_REQUEST}
        self._places = Places(body, {} if policy.of_templates else names)
        self._is_secret = attributes.kind == "Secret"
        self._told: set[str] = set()

    def decision(self, result: RuleResult | None) -> Decision:
        """Return what decided, with the exceptions that did not apply at the end of its parts."""
        deciding = self._deciding(result)
        if result is not None and result.rule != EXCEPTION_RULE and result.status in _FAILED:
            lapsed = (asking for asking in self._askings if asking.exception is not None)
            more = [self._of(asking) for asking in lapsed if asking.evaluation.outcome is not True]
            return replace(deciding, parts=(*deciding.parts, *more))
        return deciding

    def _deciding(self, result: RuleResult | None) -> Decision:
        if result is not None and result.rule == EXCEPTION_RULE:
            return self._excepted(result)
        own = [asking for asking in self._askings if asking.exception is None]
        conditions = [asking for asking in own if asking.list in _CONDITIONS]
        refusing = [asking for asking in conditions if asking.evaluation.outcome is False]
        if refusing:
            return self._of(refusing[-1])
        if result is None or result.status is Status.SKIP:
            failing = [asking for asking in conditions if asking.error is not None]
            if not failing:
                return self._said(result)
            found = self._of(failing[-1])
            return replace(found, text=f"{found.text} (failurePolicy is Ignore)")
        asked = [one for one in own if one.list in _DECIDING and one.path[-1] == "expression"]
        if result.status is Status.ERROR:
            return self._failed(result, asked)
        if result.status in _FAILED:
            failing = [asking for asking in asked if asking.evaluation.outcome is False]
            lifting = [one for one in self._askings if one.exception is not None]
            if not failing and self._policy.kind is CelKind.DELETING and lifting:
                return self._of(lifting[-1])
            return self._of(failing[-1], result) if failing else self._said(result)
        return self._passed(asked or conditions, result)

    def _failed(self, result: RuleResult, asked: Sequence[Asking]) -> Decision:
        """Return the decision of an error: an expression without value, or the last one asked,
        whose value is of no use."""
        failing = [one for one in self._askings if one.error is not None]
        named = [one for one in failing if one.list != "variables"] or failing
        if named:
            return self._of(named[-1])
        if not asked:
            return self._said(result)
        return replace(self._of(asked[-1]), holds=None, text=single_line(result.message))

    def _passed(self, asked: Sequence[Asking], result: RuleResult) -> Decision:
        if len(asked) == 1:
            return self._of(asked[0])
        if not asked:
            return self._said(result)
        parts = tuple(self._of(asking) for asking in asked)
        name = asked[0].list
        is_true = all(asking.evaluation.outcome is True for asking in asked)
        verb = "are true" if is_true else "were evaluated"
        text = f"all {len(asked)} expressions of {name} {verb}"
        where = self._policy.resource.location.within(pointer_of("spec", asked[0].list))
        return Decision(Asked.RULE, True, text, where, parts=parts)

    def _said(self, result: RuleResult | None) -> Decision:
        """Return what no expression decided."""
        where = self._policy.resource.location
        if result is None:
            text = "the policy says nothing of the object"
            if self._policy.spec.get("paramKind"):
                text = "there are no parameters, and parameterNotFoundAction is Allow"
                return Decision(Asked.PARAMETER, False, text, where)
            return Decision(Asked.RULE, False, text, where)
        asked, field = Asked.RULE, result.fields[0] if result.fields else None
        if self._policy.kind is CelKind.IMAGE_VALIDATING and field is not None:
            asked = Asked.IMAGE
        holds = {Status.PASS: True, Status.ERROR: None}.get(result.status, False)
        return Decision(asked, holds, single_line(result.message), where, field)

    def _excepted(self, result: RuleResult) -> Decision:
        names = result.properties.get("exceptions", "").split(",")
        parts = [
            self._of(asking)
            for asking in self._askings
            if asking.exception is not None and asking.exception.name in names
        ]
        named = [one for one in self._exceptions() if one.name in names]
        where = named[0].location if named else self._policy.resource.location
        return Decision(
            Asked.EXCEPTION, True, single_line(result.message), where, parts=tuple(parts)
        )

    def _exceptions(self) -> Iterator[CelException]:
        yield from (one.exception for one in self._askings if one.exception is not None)

    def _of(self, asking: Asking, result: RuleResult | None = None) -> Decision:
        """Return an expression with its parts; result: that of the validation that it is."""
        asked, name = self._name(asking)
        tree = self._part(parts_of(asking.evaluation, self._places), asking)
        fields = result.fields if result is not None else ()
        pointer = fields[0] if fields else next(_pointers(tree), None)
        program, outcome = asking.evaluation.program, asking.evaluation.outcome
        if asking.error is not None:
            text = f"{name} has no value: {single_line(asking.error.message)}"
        elif isinstance(outcome, bool):
            names = any(isinstance(node, Ident) for node in nodes(program.root))
            is_constant = not names and sees_the_request_alone(program)
            word = "always " if is_constant else ""
            text = f"{name} is {word}{'true' if outcome else 'false'}"
            text += "" if is_constant else _reason(tree)
        else:
            text = f"{name} was evaluated"
        where = self._locate(asking, 0)
        return Decision(asked, tree.holds, text, where, pointer, MISSING, (tree,))

    def _name(self, asking: Asking) -> tuple[Asked, str]:
        if asking.exception is not None:
            at = asking.path[1] if asking.path else 0
            condition = asking.exception.conditions[int(at)].name
            return Asked.EXCEPTION, f"exception {asking.exception.key}, condition {condition}"
        if len(asking.path) < len(("list", 0)) or asking.list not in _LISTED:
            return Asked.EXPRESSION, path_text(("spec", *asking.path))
        asked, noun = _LISTED[asking.list]
        entry = pointed_at(self._policy.spec, map(str, asking.path[:2]))
        name = entry.get("name") or entry.get("key") if isinstance(entry, dict) else None
        return asked, f"{noun} {shown(name)}" if name else path_text(asking.path[:2])

    def _part(self, part: Part, asking: Asking) -> Decision:
        """Return a part of an expression, with the variables that it reads."""
        inner = [self._part(one, asking) for one in part.parts]
        if part.variable and part.variable not in self._told:
            self._told.add(part.variable)
            inner += self._variable(part.variable)
        pointer = None if part.path is None else pointer_of(*part.path)
        text = shortened(" ".join(part.text.split()), _LONGEST_TEXT)
        hidden = self._is_secret and not _is_open(part)
        if part.error is not None:
            holds, sentence = None, f"{shown(text)} has no value: {single_line(part.error.message)}"
        else:
            value = "hidden" if hidden else shortened(notation(part.value), _LONGEST_VALUE)
            place = path_text(part.path) if part.is_element and part.path else value
            holds, sentence = part.value is not False, f"{shown(text)} is {shown(place)}"
        if part.is_element and inner:
            holds = inner[0].holds
        asked = Asked.ELEMENT if part.is_element else Asked.EXPRESSION
        value = MISSING if hidden or part.error is not None else _json(part.value)
        where = self._locate(asking, part.offset)
        return Decision(asked, holds, sentence, where, pointer, value, tuple(inner))

    def _variable(self, name: str) -> Iterator[Decision]:
        for asking in reversed(self._askings):
            if asking.list == "variables" and self._name(asking)[1] == f"variable {name}":
                yield self._of(asking)
                return

    def _locate(self, asking: Asking, offset: int) -> Location:
        if asking.exception is not None:
            return asking.exception.location.character(pointer_of("spec", *asking.path), offset)
        policy = self._policy
        location, pointer = policy.resource.location, pointer_of("spec", *asking.path)
        text = asking.evaluation.program.source
        original = pointed_at(policy.resource.body, ("spec", *map(str, asking.path)))
        if isinstance(original, str) and original != text:
            found = source_offset(original, text, policy.template, offset)
            return location.within(pointer) if found is None else location.character(pointer, found)
        return location.character(pointer, offset) if original else location


_FAILED: Final = (Status.FAIL, Status.WARN)


def _placed(
    policy: CelPolicy, evaluations: Sequence[Evaluation], exceptions: Sequence[CelException]
) -> Iterator[Asking]:
    """Yield evaluations with the fields that hold their expressions. Of equal texts the first
    evaluation is that of the first field."""
    own: dict[str, list[FieldPath]] = {}
    for path, text in texts_below(policy.spec):
        own.setdefault(text, []).append(path)
    others = {
        condition.expression: (exception, ("matchConditions", at, "expression"))
        for exception in exceptions
        for at, condition in enumerate(exception.conditions)
    }
    for evaluation in evaluations:
        text = evaluation.program.source
        paths = own.get(text)
        if paths:
            yield Asking(evaluation, paths.pop(0) if len(paths) > 1 else paths[0])
        elif text in others:
            exception, path = others[text]
            yield Asking(evaluation, path, exception)
        else:
            yield Asking(evaluation, ())


def _pointers(decision: Decision) -> Iterator[str]:
    """Yield the fields of the parts that made a decision what it is, the innermost first."""
    alike = [part for part in decision.parts if part.holds is decision.holds]
    for part in alike:
        yield from _pointers(part)
    if decision.holds is None and decision.pointer is not None:
        yield decision.pointer
    for part in decision.parts:
        yield from () if part in alike else _pointers(part)
    if decision.pointer is not None:
        yield decision.pointer


def _reason(tree: Decision) -> str:
    """Return the innermost expression that made one false, the element that it is about, and a
    value in it; nothing for one that is true."""
    if tree.holds is not False:
        return ""
    element = ""
    while found := next((part for part in tree.parts if part.holds is False), None):
        if found.asked is Asked.ELEMENT:
            element = f"; {found.text}"
        tree = found
    if tree.asked is Asked.ELEMENT:
        return element
    values = (part.text for part in tree.parts if not isinstance(part.value, bool))
    value = next(values, "")
    return f": {tree.text.removesuffix(' is false')}{element}{value and '; '}{value}"


def _is_open(part: Part) -> bool:
    """Return whether a value of a Secret may be shown."""
    if isinstance(part.value, bool):
        return True
    return part.path is not None and part.path[:1] != () and part.path[0] in _OPEN_FIELDS


def _json(value: Value) -> Json:
    """Return a value as JSON has it, or as text; MISSING for what is large."""
    text = notation(value)
    if len(text) > _LARGEST_VALUE:
        return MISSING
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return text
    return value


def unmatched_decision(evaluator: Evaluator, attributes: Attributes) -> RuleDecision:
    """Return why no form of a policy speaks of a kind of requests; evaluator: of the policy
    itself."""
    policy = evaluator.policy
    match = evaluator.why_match(attributes)
    form = unextended(policy, attributes)
    if form is not None:
        match = replace(match, parts=(*match.parts, form))
    return RuleDecision(policy.id, "", None, match)


def unextended(policy: CelPolicy, attributes: Attributes) -> Decision | None:
    """Return why a policy about Pods has no form for a pod controller; None for other objects and
    policies."""
    controllers = {one.plural: one for one in CONTROLLERS}
    controller = controllers.get(attributes.resource)
    constraints = policy.constraints
    if controller is None or controller.group != attributes.group or constraints is None:
        return None
    if policy.kind not in _EXTENDED or not any(
        "pods" in rule.resources for rule in constraints.rules
    ):
        return None
    location = policy.resource.location
    found = obstacle(constraints)
    if found is not None:
        where = location.within(pointer_of("spec", "matchConstraints", *found[0]))
        text = f"no form for {attributes.resource}: {found[1]}"
        return Decision(Asked.AUTOGEN, False, text, where)
    where = location.within("/spec/autogen/podControllers/controllers")
    named = ", ".join(policy.controllers or ()) or "none"
    text = (
        f"no form for {attributes.resource}: autogen.podControllers.controllers is {shown(named)}"
    )
    return Decision(Asked.AUTOGEN, False, text, where)


_EXTENDED: Final = (CelKind.VALIDATING, CelKind.MUTATING, CelKind.IMAGE_VALIDATING)
