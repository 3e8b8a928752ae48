"""A condition and its answer, as a recorder keeps them."""

from __future__ import annotations

from dataclasses import replace

from chartkit.engine.cluster_policy.conditions.blocks import Conditions, Outcome
from chartkit.engine.cluster_policy.conditions.fields import has_variables
from chartkit.engine.cluster_policy.conditions.parse import Condition
from chartkit.engine.context.context import Context
from chartkit.engine.context.recorder import Recorder, field_of
from chartkit.engine.why import MISSING, Asked, Decision, value_text
from chartkit.errors import EvaluationError
from chartkit.go.strconv import mark_literals
from chartkit.model import Json
from chartkit.safe_text import shown
from chartkit.wording import shortened

_MOST_CHARACTERS = 120


def record_condition(
    recorder: Recorder,
    condition: Condition,
    context: Context,
    sides: tuple[Json, Json],
    holds: bool,
) -> None:
    """Record a condition; sides: the values of its key and its value."""
    given, wanted = sides
    pointer = _field(recorder, condition, context)
    is_hidden = recorder.hides(pointer) and _reads_object(condition)
    key_text = "hidden" if is_hidden else value_text(given)
    against = value_text(wanted)
    if has_variables(condition.value):
        against = f"{_written(condition.value)} ({'hidden' if is_hidden else against})"
    key = f"{_written(condition.key)} is " if has_variables(condition.key) else ""
    answer = "holds" if holds else "does not hold"
    text = f"{key}{key_text}: {condition.operator} {against} {answer}"
    location = recorder.sources.location(condition.source)
    value = MISSING if is_hidden else given
    recorder.add(Decision(Asked.CONDITION, holds, text, location, pointer, value))


def record_preconditions(conditions: Conditions, context: Context) -> Outcome:
    """Return the answer of preconditions, which is recorded with its parts; raise
    EvaluationError."""
    recorder = context.recorder
    assert recorder is not None
    failure: EvaluationError | None = None
    outcome = Outcome(False)
    with recorder.inside() as parts:
        try:
            outcome = conditions.evaluate(context)
        except EvaluationError as error:
            failure = error
    holds = None if failure is not None else outcome.holds
    location = recorder.sources.at("preconditions")
    decision = Decision(Asked.PRECONDITIONS, holds, "the preconditions hold", location)
    deciding = next((part for part in reversed(parts) if part.holds is holds), None)
    if deciding is not None and not holds:
        text = f"preconditions: {deciding.text}"
        decision = replace(deciding, asked=Asked.PRECONDITIONS, text=text)
    if failure is not None:
        decision = replace(decision, text=failure.message)
    recorder.add(replace(decision, parts=tuple(parts)))
    if failure is not None:
        raise failure
    return outcome


def record_failure(
    recorder: Recorder, condition: Condition, context: Context, message: str
) -> None:
    """Record a condition that has no answer."""
    text = f"{_written(condition.key)} {condition.operator}: {shown(message)}"
    location, pointer = recorder.sources.location(condition.source), None
    if not recorder.is_secret:
        pointer = _field(recorder, condition, context)
    recorder.add(Decision(Asked.CONDITION, None, text, location, pointer))


def _field(recorder: Recorder, condition: Condition, context: Context) -> str | None:
    """Return the first field of the object that a condition reads."""
    for side in (condition.key, condition.value):
        if has_variables(side):
            pointer = field_of(recorder.traced(context, mark_literals(side)))
            if pointer is not None:
                return pointer
    return None


def _reads_object(condition: Condition) -> bool:
    """Return whether a condition may read the data of an object."""
    text = f"{condition.key} {condition.value}".lower()
    return any(word in text for word in ("object", "target", "element"))


def _written(value: Json) -> str:
    if isinstance(value, str):
        return shown(shortened(" ".join(value.split()), _MOST_CHARACTERS))
    return value_text(value)
