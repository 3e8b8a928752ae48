"""Conditions compiled once: any/all blocks and flat lists over compiled comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.conditions.parse import (
    OPERATORS,
    Blocks,
    Condition,
    FlatList,
    parse_conditions,
)
from chartkit.engine.cluster_policy.pattern.build import weight_of
from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import SubstitutionError, Template, compile_template
from chartkit.engine.scalars.wildcard import has_wildcard
from chartkit.errors import EvaluationError, raising
from chartkit.go.strconv import Int64, mark_literals
from chartkit.model import FieldPath, Json

if TYPE_CHECKING:
    from chartkit.engine.context.origins import Origins


class Outcome(NamedTuple):
    """The outcome of conditions, with the messages of the decisive ones, not yet substituted."""

    holds: bool
    message: str = ""


class Conditions(NamedTuple):
    """Compiled conditions.

    evaluate: decides in a context, and raises `EvaluationError` for a variable that cannot be had;
    is_empty: whether they hold whatever the context is, without a message; fields: the fields of
    the object that they are about where they hold.
    """

    evaluate: Callable[[Context], Outcome]
    is_empty: bool
    fields: Callable[[Origins], Iterable[FieldPath]]

    def ask(self, context: Context) -> Outcome:
        """Return the answer of preconditions, which a context with a recorder records with its
        parts; raise `EvaluationError`."""
        if context.recorder is None:
            return self.evaluate(context)
        from chartkit.engine.cluster_policy.conditions.fields import record_preconditions

        return record_preconditions(self, context)


def compile_conditions(body: Json) -> Conditions:
    """Compiles the value of `preconditions` or `conditions`.

    Raises `ConditionsMalformed`. Faults that make Kyverno reject a policy that it has read are
    found by `check_conditions`, not here: an unknown operator raises when it is evaluated.
    """
    parsed = parse_conditions(body)
    fields = partial(_find_fields, [], parsed)
    if isinstance(parsed, FlatList):
        comparisons = _compile_all(parsed.conditions)
        return Conditions(_flat(comparisons), not comparisons, fields)
    any_block = None if parsed.any is None else _compile_all(parsed.any)
    all_block = _compile_all(parsed.all or ())
    is_empty = any_block is None and not all_block
    return Conditions(_blocks(any_block, all_block), is_empty, fields)


def _find_fields(
    compiled: list[Callable[[Origins], Iterable[FieldPath]]],
    parsed: Blocks | FlatList,
    origins: Origins,
) -> Iterable[FieldPath]:
    """The fields of conditions that hold; compiled: the search, empty before the first."""
    if not compiled:
        from chartkit.engine.cluster_policy.conditions.fields import compile_fields

        compiled.append(compile_fields(parsed))
    return compiled[0](origins)


_Comparison = tuple[Callable[["Context"], bool], str]
_HOLDS = Outcome(True)
_FAILS = Outcome(False)


def _compile_all(conditions: tuple[Condition, ...]) -> tuple[_Comparison, ...]:
    """Compile conditions; one that a YAML alias repeats is compiled once."""
    compiled: dict[tuple[int, int, str], Callable[[Context], bool]] = {}
    comparisons = []
    for condition in conditions:
        if condition.identity not in compiled:
            compiled[condition.identity] = _compile(condition)
        comparisons.append((compiled[condition.identity], condition.message))
    return tuple(comparisons)


def _flat(comparisons: tuple[_Comparison, ...]) -> Callable[[Context], Outcome]:
    def evaluate(context: Context) -> Outcome:
        for holds, message in comparisons:
            if not holds(context):
                return Outcome(False, message) if message else _FAILS
        return passed

    passed = Outcome(True, _join([message for _, message in comparisons], ";"))
    return evaluate


def _blocks(
    any_block: tuple[_Comparison, ...] | None, all_block: tuple[_Comparison, ...]
) -> Callable[[Context], Outcome]:
    def evaluate(context: Context) -> Outcome:
        met: list[str] = []
        unmet: list[str] = []
        decided = True
        if any_block is not None:
            decided = False
            for holds, message in any_block:
                if holds(context):
                    decided = True
                    met.append(message)
                    break
                unmet.append(message)
        # A failed `any` does not spare the `all` block: its variables may still raise.
        for holds, message in all_block:
            if not holds(context):
                decided = False
                unmet.append(message)
                break
            met.append(message)
        text = _join(met if decided else unmet, "; ")
        if text:
            return Outcome(decided, text)
        return _HOLDS if decided else _FAILS

    return evaluate


def _join(messages: list[str], separator: str) -> str:
    return separator.join(filter(None, messages))


def _compile(condition: Condition) -> Callable[[Context], bool]:
    key = compile_template(mark_literals(condition.key))
    value = compile_template(mark_literals(condition.value))
    operator = OPERATORS.get(condition.operator)
    if operator is None:
        text = "failed to create handler for condition operator: %!w(<nil>)"
        return raising(EvaluationError, text)
    if value.is_constant:
        compare = operator(value.value)
        parts = weight_of(value.value)

        def holds(context: Context) -> bool:
            resolved = _resolved(condition, "key", key, context)
            if resolved.__class__ in _LISTS:
                if _is_short(resolved):
                    context.budget.steps -= _FEW * parts
                else:
                    _count(resolved, value.value, context.budget)
            if context.recorder is None:
                return compare(resolved)
            return _recorded(condition, context, (resolved, value.value), compare)

        return holds

    def compared(context: Context) -> bool:
        resolved = _resolved(condition, "key", key, context)
        against = _resolved(condition, "value", value, context)
        if resolved.__class__ in _LISTS or against.__class__ in _LISTS:
            if _is_short(resolved) and _is_short(against):
                context.budget.steps -= _FEW * _FEW
            else:
                _count(resolved, against, context.budget)
        if context.recorder is None:
            return operator(against)(resolved)
        return _recorded(condition, context, (resolved, against), operator(against))

    return compared


def _count(key: Json, value: Json, budget: Budget) -> None:
    """Count comparisons: every pair if wildcards are possible, else each member once."""
    budget.visit(key, _COMPARISON)
    budget.visit(value, _COMPARISON)
    keys, values = _members(key), _members(value)
    budget.spend(_wild(keys) * len(values) + _wild(values) * len(keys), _COMPARISON)


def _is_short(value: Json) -> bool:
    """Report whether a value is a scalar or a list of a few of them."""
    if value.__class__ is list:
        return len(value) <= _FEW and _SCALARS.issuperset(map(type, value))
    return value.__class__ in _SCALARS


def _members(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _wild(members: list[Json]) -> int:
    return sum(isinstance(member, str) and has_wildcard(member) for member in members)


_LISTS = frozenset({list, dict})
_SCALARS = frozenset({str, int, float, bool, Int64, type(None)})
_FEW = 8
"""The most members that a list with wildcards may have to be counted in full."""
_COMPARISON = "a condition"


def _resolved(condition: Condition, side: str, template: Template, context: Context) -> Json:
    """Return the key or the value of a condition; raise `EvaluationError`, which is recorded,
    where its variables cannot be had."""
    try:
        return template.resolve(context)
    except SubstitutionError as error:
        message = f"failed to substitute variables in condition {side}: {error.message}"
        if context.recorder is not None:
            from chartkit.engine.cluster_policy.conditions.fields import record_failure

            record_failure(context.recorder, condition, context, message)
        raise EvaluationError(message) from error


def _recorded(
    condition: Condition,
    context: Context,
    sides: tuple[Json, Json],
    compare: Callable[[Json], bool],
) -> bool:
    """Return the answer of a condition, which is recorded; sides: its key's value and its value."""
    from chartkit.engine.cluster_policy.conditions.fields import record_condition

    answer = compare(sides[0])
    if context.recorder is not None:
        record_condition(context.recorder, condition, context, sides, answer)
    return answer
