"""Validate rules: deny, pattern, anyPattern and foreach, with the messages that Kyverno gives.

What the rule alone decides, texts included, is made when the rule is compiled; the answer of a
rule that passes is one and the same object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from chartkit.engine.cluster_policy.conditions import compile_conditions
from chartkit.engine.cluster_policy.existing_violations import allow_existing
from chartkit.engine.cluster_policy.foreach import compile_foreach
from chartkit.engine.cluster_policy.handler import NO_ELEMENT, Block, Check, Checked, Handler
from chartkit.engine.cluster_policy.overlay import (
    Judge,
    compile_any_pattern,
    compile_single_pattern,
)
from chartkit.engine.context.variables import SubstitutionError, Template, compile_template
from chartkit.engine.request.request import Operation
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, RuleResult, RuleType, Status

if TYPE_CHECKING:
    from chartkit.engine.cluster_policy.policy import Policy, Rule
    from chartkit.engine.context.context import Context
    from chartkit.engine.request.request import Request

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
            policy.key, rule.name, RuleType.VALIDATION, checked.status, checked.message
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
        if request.operation is Operation.DELETE:
            return None
        return judge(context, request.resource.body)

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
        return Checked(Status.FAIL, explain(outcome.message, context))

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
