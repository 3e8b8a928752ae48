"""The fields of an object that conditions which hold were about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cluster_policy.conditions.comparison import Prepare
from chartkit.engine.cluster_policy.conditions.operators import OPERATORS
from chartkit.engine.cluster_policy.conditions.parse import Blocks, Condition, FlatList
from chartkit.engine.context.origins import Origins
from chartkit.engine.jmespath.traced import Path, Traced, with_keys
from chartkit.engine.jmespath.tracing import both
from chartkit.errors import ChartkitError
from chartkit.go.int64 import mark_literals
from chartkit.model import Json

_IDENTITY: Final = frozenset(
    {("kind",), ("apiVersion",), ("metadata", "name"), ("metadata", "namespace")}
)
"""What an object is called: rules ask for it to leave some objects alone."""


def fields_that_hold(parsed: Blocks | FlatList, origins: Origins) -> list[Path]:
    """Return the fields of conditions that hold: those of all, each of which must, come before
    those of an `any` block, and the object's identity comes last."""
    if isinstance(parsed, FlatList):
        conditions = parsed.conditions
    else:
        conditions = (*(parsed.all or ()), *(parsed.any or ()))
    found: list[Path] = []
    for condition in conditions:
        try:
            found += _fields(condition, origins)
        except (ChartkitError, ValueError):
            # Nothing is told of a condition that has no value; another one decided.
            continue
    return sorted(found, key=_IDENTITY.__contains__)


def _fields(condition: Condition, origins: Origins) -> Iterator[Path]:
    operator = OPERATORS.get(condition.operator)
    if operator is None:
        return
    key = origins.resolve(mark_literals(condition.key))
    value = origins.resolve(mark_literals(condition.value))
    if operator(value.value)(key.value) and not _is_lost(key, value, operator):
        yield from _deciding(key, value, operator)
        yield from both(key, value)


def _is_lost(key: Traced, value: Traced, operator: Prepare) -> bool:
    """Return whether the condition holds for every key, as none is among no values."""
    if value.value != [] or value.fields():
        return False
    return operator([])([] if isinstance(key.value, list) else "")


def _deciding(key: Traced, value: Traced, operator: Prepare) -> Iterator[Path]:
    """Yield the fields of the members of a list that would decide alone, and the keys that an
    object would have to have."""
    holds = operator(value.value)
    alone = [key]
    if isinstance(key.value, list):
        plain = (one for one in key.members() if not isinstance(one.value, dict | list))
        alone = [one for one in plain if holds([one.value])]
        for member in alone:
            yield from member.fields()
    yield from with_keys(value.lost, [one.value for one in alone if isinstance(one.value, str)])
    if isinstance(key.value, list) and key.lost:
        yield from with_keys(key.lost, _enough(key.value, value.value, operator))


def _enough(members: list[Json], value: Json, operator: Prepare) -> list[str]:
    """Return the texts of a condition's value of which one more member would make it false."""
    texts = value if isinstance(value, list) else [value]
    holds = operator(value)
    return [one for one in texts if isinstance(one, str) and not holds([*members, one])]
