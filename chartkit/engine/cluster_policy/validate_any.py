"""Validate rules by `deny` and by `anyPattern`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from chartkit.engine.cluster_policy.handler import NO_ELEMENT, Checked
from chartkit.engine.cluster_policy.pattern.build import Mismatch, MismatchKind
from chartkit.engine.cluster_policy.policy import Rule
from chartkit.engine.cluster_policy.validate import (
    Judge,
    Messages,
    PatternTypeError,
    asked,
    compile_patterns,
    mismatch_fields,
)
from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import SubstitutionError, Template, compile_template
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json, Status

_NOT_TEXT: Final = "the produced message didn't resolve to a string, check your policy definition."


_MOST_MESSAGES: Final = 64


def compile_deny(deny: Body, own: str, default: str, passed: Checked) -> Callable[..., Checked]:
    """Return the check of `deny` in a context; own: the policy's message, to which those of the
    conditions are added; default: the message otherwise."""
    from chartkit.engine.cluster_policy.conditions.blocks import compile_conditions

    conditions = compile_conditions(deny.get("conditions"))
    templates: dict[str, Template] = {}

    def explain(reasons: str, context: Context) -> str:
        if not own and not reasons:
            return default
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

    def check(context: Context, _request: object = None, _element: Json = None) -> Checked:
        try:
            outcome = conditions.evaluate(context)
        except EvaluationError as error:
            return Checked(Status.ERROR, f"failed to check deny conditions: {error.message}")
        if not outcome.holds:
            return passed
        return Checked(Status.FAIL, explain(outcome.message, context), conditions.fields)

    return check


def compile_any_pattern(body: Json, rule: Rule) -> Judge:
    """Judges by an `anyPattern`."""
    # Kyverno reads it anew from JSON, where every number is a float64: nothing is marked.
    find = compile_patterns(body, _several)
    explain = Messages(rule)
    passed: list[Checked] = []
    empty = Checked(Status.PASS, rule.validate.message)

    def judge(context: Context, value: Json) -> Checked | None:
        try:
            patterns = find(context)
        except SubstitutionError as error:
            return Checked(Status.ERROR, f"variable substitution failed: {error.message}")
        except _NoListError as error:
            return Checked(Status.ERROR, error.message)
        if value is NO_ELEMENT:
            return None
        mismatches: list[Mismatch] = []
        for index, pattern in enumerate(patterns):
            mismatch = asked(context, pattern, value, body, (index,))
            if mismatch is None:
                while len(passed) <= index:
                    text = f"validation rule '{rule.name}' anyPattern[{len(passed)}] passed."
                    passed.append(Checked(Status.PASS, text))
                return passed[index]
            mismatches.append(mismatch)
        if mismatches:
            skipped: list[str] = []
            failed: list[str] = []
            for index, mismatch in enumerate(mismatches):
                reasons = skipped if mismatch.kind is MismatchKind.SKIP else failed
                reasons.append(explain.reason(index, mismatch))
            if failed:
                unmet = [miss for miss in mismatches if miss.kind is not MismatchKind.SKIP]
                message = explain.several(" ".join(failed), context)
                return Checked(Status.FAIL, message, partial(mismatch_fields, unmet))
            return Checked(Status.SKIP, " ".join(skipped))
        return empty

    return judge


class _NoListError(PatternTypeError):
    """An anyPattern that is not a list."""


def _several(body: Json) -> list[Json]:
    from chartkit.go.types import kind_of as json_kind

    if isinstance(body, list):
        return body
    if body is None:
        raise PatternTypeError("the anyPattern didn't resolve to anything")
    raise _NoListError(
        "failed to deserialize anyPattern, expected type array: "
        f"json: cannot unmarshal {json_kind(body)} into Go value of type []interface {{}}"
    )
