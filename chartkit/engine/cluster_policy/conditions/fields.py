"""The fields of an object that conditions which hold were about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from chartkit.engine.cluster_policy.conditions.comparison import Compare, Prepare
from chartkit.engine.cluster_policy.conditions.parse import OPERATORS, Blocks, Condition, FlatList
from chartkit.engine.context.origins import Origins, Resolve, compile_traced
from chartkit.engine.context.variables.syntax import OPEN, find_variables
from chartkit.engine.jmespath import JMESPathError, compile_expression
from chartkit.engine.jmespath.traced import Traced, fields_of, with_keys
from chartkit.engine.jmespath.tracing import compared
from chartkit.errors import ChartkitError
from chartkit.go.strconv import mark_literals
from chartkit.model import FieldPath, Json

_IDENTITY: Final = frozenset(
    {("kind",), ("apiVersion",), ("metadata", "name"), ("metadata", "namespace")}
)
"""The names of an object: rules ask for them to leave some objects alone."""
_OF_THE_OBJECT: Final = ("object", "Object", "namespace", OPEN)
"""Words without which an expression about the request reads nothing of the object."""


class _Traced(NamedTuple):
    """A condition that reads the object; compare: its operator with a constant value."""

    key: Resolve
    value: Resolve
    operator: Prepare
    compare: Compare | None


def compile_fields(parsed: Blocks | FlatList) -> Callable[[Origins], list[FieldPath]]:
    """Return a search for the fields of conditions that hold: those of all, each of which must,
    come before those of an `any` block, and the object's identity comes last."""
    if isinstance(parsed, FlatList):
        conditions = parsed.conditions
    else:
        conditions = (*(parsed.all or ()), *(parsed.any or ()))
    traced = [one for one in map(_compile, conditions) if one is not None]

    def find(origins: Origins) -> list[FieldPath]:
        found: list[Traced] = []
        for condition in traced:
            try:
                # What a condition was about, the most telling first; nothing where it does not
                # hold.
                key, value = condition.key(origins), condition.value(origins)
                holds = condition.compare or condition.operator(value.value)
                if holds(key.value) and not _is_lost(key, value, holds):
                    found += _deciding(key, value, holds)
                    found += compared(key, value)
            except (ChartkitError, ValueError):
                # Nothing is told of a condition that has no value; another one decided.
                continue
        return sorted(fields_of(found), key=_IDENTITY.__contains__)

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
    """Return whether a value may hold a variable or a reference (`$(…)`)."""
    if isinstance(value, str):
        return OPEN in value or "$(" in value
    members = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and any(map(has_variables, members))


def _reads_object(value: Json) -> bool:
    """Return whether a value has a variable that may read the object."""
    if isinstance(value, str):
        return any(_query_reads(variable.query) for variable in find_variables(value))
    members = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and any(map(_reads_object, members))


def _query_reads(query: str) -> bool:
    try:
        roots = compile_expression(query).roots if query else frozenset()
    except JMESPathError:
        return True
    return roots != {"request"} or any(word in query for word in _OF_THE_OBJECT)


def _is_lost(key: Traced, value: Traced, holds: Compare) -> bool:
    """Return whether the condition holds for every key, as none is among no values."""
    if value.value != [] or value.fields():
        return False
    return holds([] if isinstance(key.value, list) else "")


def _deciding(key: Traced, value: Traced, holds: Compare) -> Iterator[Traced]:
    """Yield the members of a list that would decide alone, and the keys that an object would have
    to have."""
    alone = [key]
    if isinstance(key.value, list):
        if key.lost:
            yield from with_keys(key.lost, _enough(key.value, value.value, holds))
        plain = (one for one in key.members() if not isinstance(one.value, dict | list))
        alone = [one for one in plain if holds([one.value])]
        yield from alone
    if value.lost:
        texts = [one.value for one in alone if isinstance(one.value, str)]
        yield from with_keys(value.lost, texts)


def _enough(members: list[Json], value: Json, holds: Compare) -> list[str]:
    """Return the texts of a condition's value of which one more member would make it false."""
    texts = value if isinstance(value, list) else [value]
    return [text for text in texts if isinstance(text, str) and not holds([*members, text])]
