"""Operations of requests: what preconditions say of them belongs into the match constraints.

Many rules begin with `{{ request.operation || 'BACKGROUND' }} NotEquals DELETE`: the new types say
it as `operations: [CREATE, UPDATE]`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.engine.cluster_policy.conditions.parse import (
    OPERATORS,
    Blocks,
    Condition,
    FlatList,
    parse_conditions,
)
from chartkit.engine.cluster_policy.policy import Rule
from chartkit.model import Json

ALL: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_OPERATION: Final = re.compile(
    r"""\{\{-?\s*request\.operation\s*(?:\|\|\s*['"`]+([A-Za-z_-]*)['"`]+\s*)?\}\}"""
)


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations that preconditions allow.

    allowed: the operations that meet them, in the order of `ALL`; stated: whether they say
    anything; rest: the preconditions that are left, None for none; preceding: those of them that a
    ClusterPolicy evaluates before it comes to what is said of operations.
    """

    allowed: tuple[str, ...]
    stated: bool
    rest: Blocks | None
    preceding: tuple[Condition, ...] = ()

    @property
    def background(self) -> bool:
        """Return whether background scans meet them: Kyverno scans objects as if just created."""
        return "CREATE" in self.allowed


def operations_in(preconditions: Json) -> Operations:
    """Return what preconditions say of operations; raises `ConditionsMalformed`."""
    parsed = parse_conditions(preconditions)
    if isinstance(parsed, FlatList):
        parsed = Blocks(None, parsed.conditions)
    together = list(parsed.all or ())
    alternatives = parsed.any
    if alternatives is not None and len(alternatives) == 1:
        together, alternatives = [*alternatives, *together], None
    allowed, stated = list(ALL), False
    rest: list[Condition] = []
    preceding: tuple[Condition, ...] = ()
    for condition in together:
        said = _said_of_operation(condition)
        if said is None:
            rest.append(condition)
            continue
        stated = True
        preceding = (*(alternatives or ()), *rest)
        allowed = [name for name in allowed if name in said]
    left = Blocks(alternatives, tuple(rest)) if rest or alternatives is not None else None
    return Operations(tuple(allowed), stated, left, preceding)


def leaves_deletions_open(rule: Rule) -> bool:
    """Return whether a rule is asked about deletions only since it names no operations."""
    filters = (*rule.match.any, *rule.match.all) or (rule.match.direct,)
    is_named = all(each.operations for each in filters)
    return not is_named and not any("DELETE" in each.operations for each in filters)


def _said_of_operation(condition: Condition) -> frozenset[str] | None:
    if not isinstance(condition.key, str) or condition.message:
        return None
    match = _OPERATION.fullmatch(condition.key.strip())
    prepare = OPERATORS.get(condition.operator)
    if match is None or prepare is None or not _is_constant(condition.value):
        return None
    compare = prepare(condition.value)
    return frozenset(name for name in ALL if compare(name))


def _is_constant(value: Json) -> bool:
    texts: Sequence[Json] = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) and "{{" not in text for text in texts)
