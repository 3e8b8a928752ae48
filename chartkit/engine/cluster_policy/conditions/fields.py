"""The fields of an object that conditions which hold were about, and conditions with their answers
as a recorder keeps them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from chartkit.engine.cluster_policy.conditions.blocks import Conditions, Outcome
from chartkit.engine.cluster_policy.conditions.operators import Compare, Prepare
from chartkit.engine.cluster_policy.conditions.parse import OPERATORS, Blocks, Condition, FlatList
from chartkit.engine.context.context import Context
from chartkit.engine.context.origins import Origins
from chartkit.engine.context.recorder import Recorder, field_of
from chartkit.engine.context.traced_values import Resolve, compile_traced
from chartkit.engine.context.variables import OPEN
from chartkit.engine.context.variables.syntax import find_variables
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.jmespath.traced import ANY_KEY, Traced, fields_of, with_keys
from chartkit.engine.jmespath.tracing import compared
from chartkit.engine.why import MISSING, Asked, Decision, value_text
from chartkit.errors import ChartkitError, EvaluationError
from chartkit.go.strconv import mark_literals
from chartkit.model import FieldPath, Json, texts_below
from chartkit.safe_text import shown
from chartkit.wording import shortened

_IDENTITY: Final = frozenset(
    {("kind",), ("apiVersion",), ("metadata", "name"), ("metadata", "namespace")}
)
"""The names of an object: rules ask for them to leave some objects alone."""
_OF_THE_OBJECT: Final = ("object", "Object", "namespace", OPEN)
"""Words without which an expression about the request reads nothing of the object."""


_NOTHING: Final = Traced(None)


class _Traced(NamedTuple):
    """A condition that reads the object; compare: its operator with a constant value."""

    key: Resolve
    value: Resolve
    operator: Prepare
    compare: Compare | None


def compile_fields(parsed: Blocks | FlatList) -> Callable[[Origins], list[FieldPath]]:
    """Return a search for the fields of conditions that hold: fields of `all` come before fields of
    `any`, and the object's identity comes last."""
    if isinstance(parsed, FlatList):
        conditions = parsed.conditions
    else:
        conditions = (*(parsed.all or ()), *(parsed.any or ()))
    traced = [compiled for compiled in map(_compile, conditions) if compiled is not None]

    def find(origins: Origins) -> list[FieldPath]:
        decisive: list[Traced] = []
        for condition in traced:
            try:
                # What a condition was about, the most telling first; nothing where it does not
                # hold.
                key, value = condition.key(origins), condition.value(origins)
                holds = condition.compare or condition.operator(value.value)
                if holds(key.value) and not _is_lost(key, value, holds):
                    decisive += _deciding(key, value, holds)
            except (ChartkitError, ValueError):
                # Nothing is told of a condition that has no value; another one decided.
                continue
        paths = fields_of(decisive)
        # Without fields that come after a member of theirs; that an object lacks some key is told
        # only where no member of it is named.
        telling: list[FieldPath] = []
        above: set[FieldPath] = set()
        named = [path for path in paths if path[-1] != ANY_KEY]
        holders = {path[:size] for path in named for size in range(len(path))}
        for path in paths:
            if path not in above and (path[-1] != ANY_KEY or path[:-1] not in holders):
                telling.append(path)
                above.update(path[:size] for size in range(len(path)))
        return sorted(telling, key=_IDENTITY.__contains__)

    return find


def _compile(condition: Condition) -> _Traced | None:
    operator = OPERATORS.get(condition.operator)
    if operator is None or not (_reads_object(condition.key) or _reads_object(condition.value)):
        return None
    try:
        key = compile_traced(mark_literals(condition.key))
        value = mark_literals(condition.value)
        compare = None if has_variables(value) else operator(value)
        return _Traced(key, compile_traced(value), operator, compare)
    except ChartkitError:
        return None


def has_variables(value: Json) -> bool:
    """Report whether a value may hold a variable or a reference (`$(…)`)."""
    return any(OPEN in text or "$(" in text for _, text in texts_below(value))


def _reads_object(value: Json) -> bool:
    """Report whether a value has a variable that may read the object."""
    variables = (variable for _, text in texts_below(value) for variable in find_variables(text))
    return any(_query_reads(variable.query) for variable in variables)


def _query_reads(query: str) -> bool:
    try:
        roots = compile_expression(query).roots if query else frozenset()
    except JMESPathError:
        return True
    return roots != {"request"} or any(word in query for word in _OF_THE_OBJECT)


def _is_lost(key: Traced, value: Traced, holds: Compare) -> bool:
    """Report whether the condition holds for every key, as none is among no values."""
    if value.value != [] or value.fields():
        return False
    return holds([] if isinstance(key.value, list) else "")


def _deciding(key: Traced, value: Traced, holds: Compare) -> list[Traced]:
    """Return what a condition was about: keys that an object would need (then not the names that it
    has), and members of a list that decide alone (then not what more members would come from, where
    none would make a difference)."""
    keys, alone, texts = [], [], [key.value]
    if isinstance(key.value, list):
        scalars = (member for member in key.members() if not isinstance(member.value, dict | list))
        alone = [item for item in scalars if holds([item.value])]
        texts = [item.value for item in alone]
        enough = _enough(key.value, value.value, holds) if key.lost else []
        keys = list(with_keys(key.lost, _texts(enough)))
        if keys:
            key, alone = _NOTHING, []
        elif alone and not enough:
            key = key._replace(lost=())
    needed = list(with_keys(value.lost, _texts(texts)))
    return [*keys, *alone, *needed, *compared(key, _NOTHING if needed else value)]


def _texts(items: list[Json]) -> list[str]:
    return [item for item in items if isinstance(item, str)]


def _enough(members: list[Json], value: Json, holds: Compare) -> list[Json]:
    """Return the items of a condition's value of which one more member would make it false."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if not holds([*members, item])]


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
    text = f"{condition.key} {condition.value}".lower()
    names_object = any(word in text for word in ("object", "target", "element"))
    is_hidden = recorder.hides(pointer) and names_object
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
    """The answer of preconditions, which is recorded with its parts; raises EvaluationError."""
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


def _written(value: Json) -> str:
    if isinstance(value, str):
        return shown(shortened(" ".join(value.split()), _MOST_CHARACTERS))
    return value_text(value)
