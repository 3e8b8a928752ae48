"""Validate rules: deny, pattern, anyPattern and foreach, with the messages that Kyverno gives.

What the rule alone decides, texts included, is made when the rule is compiled; the answer of a
rule that passes is one and the same object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

from chartkit.engine.cluster_policy.conditions import compile_conditions
from chartkit.engine.cluster_policy.foreach import compile_foreach
from chartkit.engine.cluster_policy.handler import NO_ELEMENT, Block, Check, Checked, Handler
from chartkit.engine.cluster_policy.match import Facts, Predicate, bind_match
from chartkit.engine.cluster_policy.overlay import (
    Judge,
    compile_any_pattern,
    compile_single_pattern,
)
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import SubstitutionError, Template, compile_template
from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.request import Operation, Request, User
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, RuleResult, RuleType, Status

_ENFORCED: Final = ("Enforce", "enforce")
_NOBODY: Final = User(
    "kyverno:kyverno-invalid-controller",
    "kyverno:invaliduid",
    ("kyverno:invalidgroup",),
    roles=("kyverno:invalidrole",),
    cluster_roles=("kyverno:invalidrole",),
)
"""The user who is given as the author of the old object: the real one is no longer known."""

_ALLOWED: Final = Checked(
    Status.SKIP, "skipping the rule evaluation as pre-existing violations are allowed"
)


def looks_back(rule: Rule, policy: Policy) -> bool:
    """Return whether a failed update makes the rule ask about the object before it."""
    action = rule.validate.failure_action or policy.failure_action
    return action in _ENFORCED and rule.validate.allow_existing_violations


def allow_existing(check: Check, rule: Rule, policy: Policy) -> Check:
    """The check of an enforced rule, so that it skips an update of what failed already."""
    if not looks_back(rule, policy):
        return check
    if rule.preconditions is not None:
        # Kyverno fails to read the preconditions here, and takes the old object as not matched.
        return check

    @cache
    def bound(kind: GroupVersionKind) -> Predicate | None:
        return bind_match(rule.match, rule.exclude, policy.namespace, kind, "")

    def checked(context: Context, request: Request, element: Json) -> Checked | None:
        found = check(context, request, element)
        if found is None or found.status is not Status.FAIL or request.old is None:
            return found
        if request.operation is not Operation.UPDATE:
            return found
        before = replace(
            request, resource=request.old, old=None, operation=Operation.CREATE, user=_NOBODY
        )
        matches = bound(kind_of(before.resource))
        if matches is None or not matches(Facts(before)):
            return found
        prior = check(_before(context, before), before, NO_ELEMENT)
        return _ALLOWED if prior is not None and prior.status is Status.FAIL else found

    return checked


def _before(context: Context, before: Request) -> Context:
    earlier = context.child()
    earlier.recorder = None
    request = dict(earlier.data.get("request") or {})
    request["object"] = before.resource.body
    request["operation"] = str(before.operation)
    request["oldObject"] = None
    earlier.set("request", request)
    return earlier


_NOT_TEXT: Final = "the produced message didn't resolve to a string, check your policy definition."
_MOST_MESSAGES: Final = 64


def compile_validate(rule: Rule, policy: Policy) -> Handler:
    """The handler of a validate rule. Raises what compiling conditions raises."""
    validation = rule.validate
    block = Block(validation.pattern, validation.any_pattern, validation.deny, validation.foreach)
    check = allow_existing(compile_block(block, rule, policy), rule, policy)
    passed: dict[Checked, RuleResult] = {}
    last: tuple[Checked, RuleResult] | None = None

    def handle(context: Context, request: Request) -> RuleResult | None:
        nonlocal last
        checked = check(context, request, NO_ELEMENT)
        if checked is None:
            return None
        if last is not None and checked is last[0]:
            return last[1]
        known = passed.get(checked)
        if known is not None:
            last = (checked, known)
            return known
        result = RuleResult(
            policy.key,
            rule.name,
            RuleType.VALIDATION,
            checked.status,
            checked.message,
            fields=checked.pointers(context, request.resource.body),
        )
        if checked.status is Status.PASS:
            passed[checked] = result
        return result

    return handle


def compile_block(block: Block, rule: Rule, policy: Policy) -> Check:
    """Return the check of a rule, or of a foreach inside it."""
    if block.deny is not None:
        return _compile_deny(block.deny, rule)
    if block.pattern is not None:
        return _of_object(compile_single_pattern(block, rule))
    if block.any_pattern is not None:
        return _of_object(compile_any_pattern(block, rule))
    if block.foreach:
        return compile_foreach(block, rule, policy, compile_block)
    return lambda _context, _request, _element: None


def _of_object(judge: Judge) -> Check:
    def check(context: Context, request: Request, element: Json) -> Checked | None:
        if element is not NO_ELEMENT:
            return judge(context, element)
        deleted = request.operation is Operation.DELETE
        return judge(context, NO_ELEMENT if deleted else request.resource.body)

    return check


def _compile_deny(deny: Body, rule: Rule) -> Check:
    conditions = compile_conditions(deny.get("conditions"))
    passed = Checked(Status.PASS, f"validation rule '{rule.name}' passed.")
    explain = _deny_message(rule)

    def check(context: Context, _request: Request, _element: Json) -> Checked | None:
        try:
            outcome = conditions.evaluate(context)
        except EvaluationError as error:
            return Checked(Status.ERROR, f"failed to check deny conditions: {error.message}")
        if not outcome.holds:
            return passed
        return Checked(Status.FAIL, explain(outcome.message, context), conditions.fields)

    return check


def _deny_message(rule: Rule) -> Callable[[str, Context], str]:
    """The message of a denial, from the conditions' own messages."""
    own = rule.validate.message
    templates: dict[str, Template] = {}

    def message(reasons: str, context: Context) -> str:
        if not own and not reasons:
            return f"validation error: rule {rule.name} failed"
        template = templates.get(reasons)
        if template is None:
            template = compile_template("; ".join(filter(None, (own, reasons))))
            if len(templates) < _MOST_MESSAGES:
                templates[reasons] = template
        try:
            text = template.resolve(context)
        except SubstitutionError:
            return reasons
        return text if isinstance(text, str) else _NOT_TEXT

    return message
