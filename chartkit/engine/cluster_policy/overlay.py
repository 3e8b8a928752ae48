"""`pattern` and `anyPattern` of a rule or foreach: which result, and which message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from chartkit.engine.cluster_policy.handler import NO_ELEMENT, Block, Checked
from chartkit.engine.cluster_policy.pattern import (
    Mismatch,
    MismatchKind,
    Pattern,
    PatternDepthError,
    compile_pattern,
)
from chartkit.engine.cluster_policy.pattern.build import Part, Places
from chartkit.engine.cluster_policy.pattern.recorded import record_pattern
from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.engine.cluster_policy.policy import Rule
from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import SubstitutionError, compile_template
from chartkit.errors import EvaluationError, raising
from chartkit.go.strconv import mark_literals
from chartkit.go.types import kind_of
from chartkit.model import FieldPath, Json, Status

if TYPE_CHECKING:
    from chartkit.engine.context.origins import Origins

Judge = Callable[["Context", Json], Checked | None]
"""Compares a value in a context; of `NO_ELEMENT`, a deleted object, only a pattern whose variables
cannot be resolved says anything. May raise EvaluationError."""

_Patterns = Callable[["Context"], Sequence[Pattern]]

_MOST_CACHED: Final = 256


def compile_single_pattern(block: Block, rule: Rule) -> Judge:
    """Judges by a block's `pattern`."""
    (marked,) = mark_literals([block.pattern])
    find = _compile_patterns(marked, _one)
    passed = Checked(Status.PASS, f"validation rule '{rule.name}' passed.")
    explain = _Messages(rule)

    def judge(context: Context, value: Json) -> Checked | None:
        try:
            (pattern,) = find(context)
        except SubstitutionError as error:
            return Checked(Status.ERROR, f"variable substitution failed: {error.message}")
        if value is NO_ELEMENT:
            return None
        mismatch = _asked(context, pattern, value, block.pattern, ())
        if mismatch is None:
            return passed
        if mismatch.kind is MismatchKind.SKIP:
            return Checked(Status.SKIP, mismatch.message)
        status = Status.FAIL if mismatch.kind is MismatchKind.FAIL else Status.ERROR
        fields = partial(_fields, (mismatch,))
        return Checked(status, explain.single(mismatch, context), fields)

    return judge


def compile_any_pattern(block: Block, rule: Rule) -> Judge:
    """Judges by a block's `anyPattern`."""
    # Kyverno reads it anew from JSON, where every number is a float64: nothing is marked.
    find = _compile_patterns(block.any_pattern, _several)
    explain = _Messages(rule)
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
            mismatch = _asked(context, pattern, value, block.any_pattern, (index,))
            if mismatch is None:
                while len(passed) <= index:
                    text = f"validation rule '{rule.name}' anyPattern[{len(passed)}] passed."
                    passed.append(Checked(Status.PASS, text))
                return passed[index]
            mismatches.append(mismatch)
        return _none_holds(mismatches, explain, context) if mismatches else empty

    return judge


def _asked(
    context: Context, pattern: Pattern, value: Json, written: Json, above: FieldPath
) -> Mismatch | None:
    """Return the answer of a pattern, and record it where somebody asks why; written, above: where
    it is in the policy."""
    if context.recorder is None:
        return pattern.check(value, context.budget)
    absent: list[tuple[Part, Places]] = []
    mismatch = pattern.check(value, context.budget, absent)
    record_pattern(context.recorder, written, above, mismatch, absent)
    return mismatch


def _fields(mismatches: Iterable[Mismatch], origins: Origins) -> Iterator[FieldPath]:
    for mismatch in mismatches:
        # The fields that a mismatch is about, the most telling first.
        if mismatch.place is None:
            continue
        part, places = mismatch.place
        found = origins.judged.inside(part.path.fields(places))
        for inner in _inside(part, found.value):
            yield from found.inside(inner).fields()


def _none_holds(mismatches: list[Mismatch], explain: _Messages, context: Context) -> Checked:
    skipped: list[str] = []
    failed: list[str] = []
    for index, mismatch in enumerate(mismatches):
        reasons = skipped if mismatch.kind is MismatchKind.SKIP else failed
        reasons.append(explain.reason(index, mismatch))
    if failed:
        unmet = [one for one in mismatches if one.kind is not MismatchKind.SKIP]
        message = explain.several(" ".join(failed), context)
        return Checked(Status.FAIL, message, partial(_fields, unmet))
    return Checked(Status.SKIP, " ".join(skipped))


class _Messages:
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


def _compile_patterns(body: Json, split: Callable[[Json], list[Json]]) -> _Patterns:
    """Return the patterns to compare with; compiled once if they are constant."""
    template = compile_template(body)
    if not template.is_constant:
        cache = _Cache()
        return lambda context: [cache.compiled(one) for one in split(template.resolve(context))]
    try:
        compiled = [compile_pattern(one) for one in split(template.value)]
    except PatternDepthError as error:
        return raising(EvaluationError, error.message)
    except _PatternTypeError as error:
        return raising(type(error), error.message)
    return lambda _context: compiled


class _PatternTypeError(EvaluationError):
    """Variables that gave something that is no pattern."""


class _NoListError(_PatternTypeError):
    """An anyPattern that is no list."""


def _one(body: Json) -> list[Json]:
    if body is None:
        raise _PatternTypeError("the pattern didn't resolve to anything")
    return [body]


def _several(body: Json) -> list[Json]:
    if isinstance(body, list):
        return body
    if body is None:
        raise _PatternTypeError("the anyPattern didn't resolve to anything")
    raise _NoListError(
        "failed to deserialize anyPattern, expected type array: "
        f"json: cannot unmarshal {kind_of(body)} into Go value of type []interface {{}}"
    )


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
