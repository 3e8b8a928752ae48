"""Validate rules: deny, pattern, anyPattern and foreach, with the messages that Kyverno gives.

What the rule alone decides, texts included, is made when the rule is compiled; the answer of a
rule that passes is one and the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from chartkit.engine.cluster_policy.handler import NO_ELEMENT, Check, Checked, Handler, looks_back
from chartkit.engine.cluster_policy.pattern.build import (
    Mismatch,
    MismatchKind,
    Part,
    PatternDepthError,
    Places,
)
from chartkit.engine.cluster_policy.pattern.match import Pattern, compile_pattern
from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import SubstitutionError, compile_template
from chartkit.engine.request import Operation, Request
from chartkit.errors import EvaluationError, raising
from chartkit.go.strconv import mark_literals
from chartkit.model import Body, FieldPath, Json, RuleResult, RuleType, Status

if TYPE_CHECKING:
    from chartkit.engine.context.origins import Origins


def compile_validate(rule: Rule, policy: Policy) -> Handler:
    """The handler of a validate rule. Raises what compiling conditions raises."""
    body: Body = rule.body.get("validate") or {}
    check = compile_block(body, rule, policy)
    if looks_back(rule, policy):
        from chartkit.engine.cluster_policy.existing import allow_existing

        check = allow_existing(check, rule, policy)
    passed: dict[Checked, RuleResult] = {}
    last: tuple[Checked, RuleResult] | None = None

    def handle(context: Context, request: Request) -> RuleResult | None:
        nonlocal last
        checked = check(context, request, NO_ELEMENT)
        if checked is None:
            return None
        if last is not None and checked is last[0]:
            return last[1]
        outcome = passed.get(checked)
        if outcome is not None:
            last = (checked, outcome)
            return outcome
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


def compile_block(body: Body, rule: Rule, policy: Policy, nesting: int = 0) -> Check:
    """Return the check of a rule's `validate`, or of a foreach inside it: deny before patterns
    before foreach. nesting: the number of loops around it."""
    if body.get("deny") is not None:
        from chartkit.engine.cluster_policy.validate_any import compile_deny

        passed = Checked(Status.PASS, f"validation rule '{rule.name}' passed.")
        default = f"validation error: rule {rule.name} failed"
        return compile_deny(body["deny"], rule.validate.message, default, passed)
    if body.get("pattern") is not None:
        return _of_object(compile_single_pattern(body["pattern"], rule))
    if body.get("anyPattern") is not None:
        from chartkit.engine.cluster_policy.validate_any import compile_any_pattern

        return _of_object(compile_any_pattern(body["anyPattern"], rule))
    if body.get("foreach"):
        from chartkit.engine.cluster_policy.foreach import compile_foreach

        return compile_foreach(body["foreach"], rule, policy, nesting, compile_block)
    return lambda _context, _request, _element: None


def _of_object(judge: Judge) -> Check:
    def check(context: Context, request: Request, element: Json) -> Checked | None:
        if element is not NO_ELEMENT:
            return judge(context, element)
        deleted = request.operation is Operation.DELETE
        return judge(context, NO_ELEMENT if deleted else request.resource.body)

    return check


Judge = Callable[["Context", Json], Checked | None]
"""Compares a value in a context; of `NO_ELEMENT`, a deleted object, only a pattern whose variables
cannot be resolved says anything. May raise EvaluationError."""

_Patterns = Callable[["Context"], Sequence[Pattern]]

_MOST_CACHED: Final = 256


def compile_single_pattern(body: Json, rule: Rule) -> Judge:
    """Judges by a `pattern`."""
    (marked,) = mark_literals([body])
    find = compile_patterns(marked, _one)
    passed = Checked(Status.PASS, f"validation rule '{rule.name}' passed.")
    explain = Messages(rule)

    def judge(context: Context, value: Json) -> Checked | None:
        try:
            (pattern,) = find(context)
        except SubstitutionError as error:
            return Checked(Status.ERROR, f"variable substitution failed: {error.message}")
        if value is NO_ELEMENT:
            return None
        mismatch = asked(context, pattern, value, body, ())
        if mismatch is None:
            return passed
        if mismatch.kind is MismatchKind.SKIP:
            return Checked(Status.SKIP, mismatch.message)
        status = Status.FAIL if mismatch.kind is MismatchKind.FAIL else Status.ERROR
        fields = partial(mismatch_fields, (mismatch,))
        return Checked(status, explain.single(mismatch, context), fields)

    return judge


def asked(
    context: Context, pattern: Pattern, value: Json, written: Json, above: FieldPath
) -> Mismatch | None:
    """Return the answer of a pattern, and record it for `why`; written, above: where it is in the
    policy."""
    if context.recorder is None:
        return pattern.check(value, context.budget)
    absent: list[tuple[Part, Places]] = []
    mismatch = pattern.check(value, context.budget, absent)
    from chartkit.engine.cluster_policy.pattern.recorded import record_pattern

    record_pattern(context.recorder, written, above, mismatch, absent)
    return mismatch


def mismatch_fields(mismatches: Iterable[Mismatch], origins: Origins) -> Iterator[FieldPath]:
    for mismatch in mismatches:
        # The fields that a mismatch is about, the most telling first.
        if mismatch.place is None:
            continue
        part, places = mismatch.place
        member = origins.judged.inside(part.path.fields(places))
        for inner in _inside(part, member.value):
            yield from member.inside(inner).fields()


class Messages:
    """The texts of a rule whose pattern does not hold."""

    __slots__ = ("_message", "_rule")

    def __init__(self, rule: Rule) -> None:
        self._rule = rule.name
        message = rule.validate.message
        self._message = compile_template(message) if message else None

    def single(self, mismatch: Mismatch, context: Context) -> str:
        """Of `pattern`."""
        lost = f"rule {self._rule} execution error: {mismatch.message}"
        reason = f"rule {self._rule} failed at path {mismatch.path}" if mismatch.path else lost
        return self._text(reason, lost, context)

    def several(self, reasons: str, context: Context) -> str:
        """Of `anyPattern`."""
        return self._text(reasons, f"rule {self._rule} execution error: {reasons}", context)

    def reason(self, index: int, mismatch: Mismatch) -> str:
        """Of one of `anyPattern`."""
        if mismatch.kind is MismatchKind.SKIP:
            return f"rule {self._rule}[{index}] skipped: {mismatch.message}"
        if mismatch.path:
            return f"rule {self._rule}[{index}] failed at path {mismatch.path}"
        return f"rule {self._rule}[{index}] failed: {mismatch.message}"

    def _text(self, reason: str, lost: str, context: Context) -> str:
        if self._message is None:
            return f"validation error: {reason}"
        try:
            message = self._message.resolve(context)
        except SubstitutionError:
            return f"validation error: variables substitution error in {lost}"
        if not isinstance(message, str):
            # Kyverno crashes here.
            raise EvaluationError(f"the message of rule {self._rule} didn't resolve to a string")
        stop = "" if message.endswith(".") else "."
        return f"validation error: {message}{stop} {reason}"


def compile_patterns(body: Json, split: Callable[[Json], list[Json]]) -> _Patterns:
    """Return the patterns to compare with; compiled once if they are constant."""
    template = compile_template(body)
    if not template.is_constant:
        cache = _Cache()
        return lambda context: [cache.compiled(part) for part in split(template.resolve(context))]
    try:
        compiled = [compile_pattern(part) for part in split(template.value)]
    except PatternDepthError as error:
        return raising(EvaluationError, error.message)
    except PatternTypeError as error:
        return raising(type(error), error.message)
    return lambda _context: compiled


class PatternTypeError(EvaluationError):
    """Variables that gave something that is not a pattern."""


def _one(body: Json) -> list[Json]:
    if body is None:
        raise PatternTypeError("the pattern didn't resolve to anything")
    return [body]


class _Cache:
    """Patterns that variables gave, compiled; the oldest goes where there are too many."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[object, Pattern] = {}

    def compiled(self, body: Json) -> Pattern:
        """The pattern compiled; raises `PatternDepthError`."""
        key = _identity(body)
        pattern = self._found.get(key)
        if pattern is None:
            pattern = compile_pattern(body)
            if len(self._found) >= _MOST_CACHED:
                del self._found[next(iter(self._found))]
            self._found[key] = pattern
        return pattern


def _identity(value: Json) -> object:
    """A hashable stand-in for a JSON value that keeps the types of numbers apart."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return tuple((key, _identity(member)) for key, member in value.items())
    if isinstance(value, list):
        return (list, *map(_identity, value))
    return type(value), value


_ITSELF: Final[tuple[FieldPath, ...]] = ((),)

_scalar = lru_cache(maxsize=1024, typed=True)(compile_scalar)


def _inside(part: Part, value: Json) -> Sequence[FieldPath]:
    """Return the places below a part of a pattern that tell more than the part, and itself."""
    pattern = part.pattern
    if value is None and isinstance(pattern, dict):
        return part.required if len(part.required) == 1 else ((), *part.required)
    if isinstance(value, list) and not isinstance(pattern, dict | list):
        holds = _scalar(pattern)
        return (*((index,) for index, member in enumerate(value) if not holds(member)), ())
    return _ITSELF
