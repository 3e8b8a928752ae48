"""Operations of requests: what preconditions say of them belongs into the match constraints.

Many rules begin with `{{ request.operation || 'BACKGROUND' }} NotEquals DELETE`: the new types say
it as `operations: [CREATE, UPDATE]`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cluster_policy.conditions.operators import OPERATORS
from chartkit.engine.cluster_policy.conditions.parse import (
    Blocks,
    Condition,
    FlatList,
    parse_conditions,
)
from chartkit.model import Json

ALL: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_OPERATION: Final = re.compile(
    r"""\{\{-?\s*request\.operation\s*(?:\|\|\s*['"`]+([A-Za-z_-]*)['"`]+\s*)?\}\}"""
)


@dataclass(frozen=True, slots=True)
class Operations:
    """What preconditions say of the operation.

    allowed: the operations that meet them, in the order of `ALL`; stated: whether they say
    anything; background: whether a scan, which has no operation, meets them; rest: the
    preconditions that are left, None for none.
    """

    allowed: tuple[str, ...]
    stated: bool
    background: bool
    rest: Blocks | None


def operations_in(preconditions: Json) -> Operations:
    """Return what preconditions say of operations; raises `ConditionsMalformed`."""
    parsed = parse_conditions(preconditions)
    if isinstance(parsed, FlatList):
        parsed = Blocks(None, parsed.conditions)
    together = list(parsed.all or ())
    alternatives = parsed.any
    if alternatives is not None and len(alternatives) == 1:
        together, alternatives = [*alternatives, *together], None
    allowed, background, stated = list(ALL), True, False
    rest: list[Condition] = []
    for condition in together:
        said = _said_of_operation(condition)
        if said is None:
            rest.append(condition)
            continue
        stated = True
        allowed = [name for name in allowed if name in said.operations]
        background = background and said.background
    left = Blocks(alternatives, tuple(rest)) if rest or alternatives is not None else None
    return Operations(tuple(allowed), stated, background, left)


@dataclass(frozen=True, slots=True)
class _Statement:
    operations: frozenset[str]
    background: bool


def _said_of_operation(condition: Condition) -> _Statement | None:
    if not isinstance(condition.key, str) or condition.message:
        return None
    match = _OPERATION.fullmatch(condition.key.strip())
    prepare = OPERATORS.get(condition.operator)
    if match is None or prepare is None or not _is_constant(condition.value):
        return None
    compare = prepare(condition.value)
    allowed = frozenset(name for name in ALL if compare(name))
    return _Statement(allowed, match[1] is not None and bool(compare(match[1])))


def _is_constant(value: Json) -> bool:
    texts: Sequence[Json] = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) and "{{" not in text for text in texts)
