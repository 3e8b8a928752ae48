"""Validate rules: deny, pattern, anyPattern and foreach, with the messages that Kyverno gives.

What the rule alone decides, texts included, is made when the rule is compiled; the answer of a
rule that passes is one and the same object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from chartkit.engine.conditions import compile_conditions
from chartkit.engine.decision import NO_ELEMENT, Block, Check, Checked
from chartkit.engine.foreach import compile_foreach
from chartkit.engine.handler import Handler
from chartkit.engine.int64 import mark_literals
from chartkit.engine.pattern import (
    Mismatch,
    MismatchKind,
    Pattern,
    compile_pattern,
    compile_pattern_cached,
)
from chartkit.engine.request import Operation
from chartkit.engine.variables import SubstitutionError, compile_template
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, RuleResult, RuleType, Status

if TYPE_CHECKING:
    from chartkit.engine.context import Context
    from chartkit.engine.policy import Policy, Rule, Validation
    from chartkit.engine.request import Request

NOT_TEXT: Final = "the produced message didn't resolve to a string, check your policy definition."


def compile_validate(rule: Rule, policy: Policy) -> Handler:
    """The handler of a validate rule. Raises what compiling conditions raises."""
    validation = rule.validate
    block = Block(validation.pattern, validation.any_pattern, validation.deny, validation.foreach)
    check = compile_block(block, rule, policy, nesting=0)
    results: dict[Checked, RuleResult] = {}

    def handle(context: Context, request: Request) -> RuleResult | None:
        checked = check(context, request, NO_ELEMENT)
        if checked is None:
            return None
        known = results.get(checked)
        if known is not None:
            return known
        result = RuleResult(
            policy.key,
            rule.name,
            RuleType.VALIDATION,
            checked.status,
            checked.message,
            properties=rule.properties,
        )
        if checked.status is Status.PASS:
            results[checked] = result
        return result

    return handle


def compile_block(block: Block, rule: Rule, policy: Policy, nesting: int) -> Check:
    """What decides in a rule (nesting 0) or in a foreach inside it."""
    if block.deny is not None:
        return _compile_deny(block.deny, rule)
    if block.pattern is not None:
        return _of_object(_compile_single(block.pattern, rule))
    if block.any_pattern is not None:
        return _of_object(_compile_any(block.any_pattern, rule))
    if block.foreach:
        return compile_foreach(block.foreach, rule, policy, nesting, compile_block)
    return lambda _context, _request, _element: None


def _compile_deny(deny: Body, rule: Rule) -> Check:
    conditions = compile_conditions(deny.get("conditions"))
    passed = Checked(Status.PASS, f"validation rule '{rule.name}' passed.")
    message = rule.validate.message

    def check(context: Context, _request: Request, _element: Json) -> Checked | None:
        try:
            outcome = conditions.evaluate(context)
        except EvaluationError as error:
            text = f"failed to check deny conditions: {error.message}"
            return Checked(Status.ERROR, text)
        if not outcome.holds:
            return passed
        return Checked(Status.FAIL, _deny_message(message, outcome.message, rule, context))

    return check


def _deny_message(message: str, reasons: str, rule: Rule, context: Context) -> str:
    if not message and not reasons:
        return f"validation error: rule {rule.name} failed"
    try:
        text = compile_template("; ".join(filter(None, (message, reasons)))).resolve(context)
    except SubstitutionError:
        return reasons
    return text if isinstance(text, str) else NOT_TEXT


def _of_object(check: Callable[[Context, Json], Checked]) -> Check:
    def checked(context: Context, request: Request, element: Json) -> Checked | None:
        if element is not NO_ELEMENT:
            return check(context, element)
        if request.operation is Operation.DELETE:
            return None
        return check(context, request.resource.body)

    return checked


def _compile_single(body: Json, rule: Rule) -> Callable[[Context, Json], Checked]:
    find = _compile_patterns(mark_literals(body), _one)
    passed = Checked(Status.PASS, f"validation rule '{rule.name}' passed.")
    explain = _Messages(rule.name, rule.validate)

    def check(context: Context, value: Json) -> Checked:
        try:
            pattern = find(context)[0]
        except SubstitutionError as error:
            return Checked(Status.ERROR, f"variable substitution failed: {error.message}")
        mismatch = pattern.check(value)
        if mismatch is None:
            return passed
        if mismatch.kind is MismatchKind.SKIP:
            return Checked(Status.SKIP, mismatch.message)
        status = Status.FAIL if mismatch.kind is MismatchKind.FAIL else Status.ERROR
        return Checked(status, explain.single(mismatch, context))

    return check


def _compile_any(body: Json, rule: Rule) -> Callable[[Context, Json], Checked]:
    # Kyverno reads anyPattern anew from JSON, where every number is a float64: nothing is marked.
    find = _compile_patterns(body, _several)
    explain = _Messages(rule.name, rule.validate)

    def check(context: Context, value: Json) -> Checked:
        try:
            patterns = find(context)
        except SubstitutionError as error:
            return Checked(Status.ERROR, f"variable substitution failed: {error.message}")
        skipped: list[str] = []
        failed: list[str] = []
        for index, pattern in enumerate(patterns):
            mismatch = pattern.check(value)
            if mismatch is None:
                text = f"validation rule '{rule.name}' anyPattern[{index}] passed."
                return Checked(Status.PASS, text)
            reasons = skipped if mismatch.kind is MismatchKind.SKIP else failed
            reasons.append(_any_reason(rule.name, index, mismatch))
        if failed:
            return Checked(Status.FAIL, explain.several(" ".join(failed), context))
        if skipped:
            return Checked(Status.SKIP, " ".join(skipped))
        return Checked(Status.PASS, rule.validate.message)

    return check


def _any_reason(rule: str, index: int, mismatch: Mismatch) -> str:
    if mismatch.kind is MismatchKind.SKIP:
        return f"rule {rule}[{index}] skipped: {mismatch.message}"
    if mismatch.path:
        return f"rule {rule}[{index}] failed at path {mismatch.path}"
    return f"rule {rule}[{index}] failed: {mismatch.message}"


def _compile_patterns(
    body: Json, split: Callable[[Json], list[Json]]
) -> Callable[[Context], list[Pattern]]:
    """What gives the patterns to check in a context; they are compiled once where they can be."""
    template = compile_template(body)
    if template.is_constant:
        compiled = [compile_pattern(one) for one in split(template.value)]
        return lambda _context: compiled
    return lambda context: [compile_pattern_cached(one) for one in split(template.resolve(context))]


def _one(body: Json) -> list[Json]:
    return [body]


def _several(body: Json) -> list[Json]:
    if not isinstance(body, list):
        raise SubstitutionError("failed to deserialize anyPattern, expected type array")
    return body


class _Messages:
    """The texts of a rule whose pattern does not hold."""

    __slots__ = ("_message", "_rule")

    def __init__(self, rule: str, validation: Validation) -> None:
        self._rule = rule
        self._message = compile_template(validation.message) if validation.message else None

    def single(self, mismatch: Mismatch, context: Context) -> str:
        """Of `pattern`."""
        if mismatch.path:
            reason = f"rule {self._rule} failed at path {mismatch.path}"
        else:
            reason = f"rule {self._rule} execution error: {mismatch.message}"
        lost = f"rule {self._rule} execution error: {mismatch.message}"
        return self._text(reason, lost, context)

    def several(self, reasons: str, context: Context) -> str:
        """Of `anyPattern`."""
        return self._text(reasons, f"rule {self._rule} execution error: {reasons}", context)

    def _text(self, reason: str, lost: str, context: Context) -> str:
        if self._message is None:
            return f"validation error: {reason}"
        try:
            message = self._message.resolve(context)
        except SubstitutionError:
            return f"validation error: variables substitution error in {lost}"
        if not isinstance(message, str):
            raise EvaluationError(NOT_TEXT)
        stop = "" if message.endswith(".") else "."
        return f"validation error: {message}{stop} {reason}"
