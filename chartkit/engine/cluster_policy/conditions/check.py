"""Kyverno's checks of conditions before it accepts a policy."""

from __future__ import annotations

from collections.abc import Iterator

from chartkit.engine.cluster_policy.conditions.operators import OPERATORS
from chartkit.engine.cluster_policy.conditions.parse import (
    Blocks,
    Condition,
    ConditionsMalformed,
    FlatList,
    parse_conditions,
)
from chartkit.model import Json

__all__ = ["ConditionsMalformed", "check_conditions"]

_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_KNOWN = f"the following values are allowed: [{', '.join(_OPERATIONS)}]"
_INVALID_OPERATOR = (
    "entered value of `operator` is invalid. valid values: ["
    + " ".join(f'"{name}"' for name in OPERATORS)
    + "]"
)


def check_conditions(body: Json, place: str, *, values: bool = True) -> str | None:
    """The first fault of the conditions, as `place` and text in Kyverno's words; None if sound.

    place: `preconditions`, `conditions` and so on, with what stands before it; values: whether
    keys and values are looked at beside the operators (Kyverno leaves them out in a foreach).
    Raises `ConditionsMalformed`.
    """
    parsed = parse_conditions(body)
    if values:
        for where, condition in _with_places(parsed, place, all_name="all"):
            fault = _value_fault(condition)
            if fault:
                return f"{where}.{fault[0]}: {fault[1]}"
    # Kyverno names the `any` block for an operator that stands in `all`.
    for where, condition in _with_places(parsed, place, all_name="any"):
        if condition.operator not in OPERATORS:
            return f"{where}.: {_INVALID_OPERATOR}"
    return None


def _with_places(
    parsed: Blocks | FlatList, place: str, all_name: str
) -> Iterator[tuple[str, Condition]]:
    if isinstance(parsed, FlatList):
        lists = [(place, parsed.conditions)]
    else:
        lists = [(f"{place}.any", parsed.any or ()), (f"{place}.{all_name}", parsed.all or ())]
    for name, conditions in lists:
        for index, condition in enumerate(conditions):
            yield f"{name}[{index}]", condition


def _value_fault(condition: Condition) -> tuple[str, str] | None:
    if condition.key is None or condition.value is None or not condition.operator:
        return "", "entered value of `key`, `value` or `operator` is missing or misspelled"
    key = condition.key
    if isinstance(key, str) and key.replace(" ", "") == "{{request.operation}}":
        return _operation_fault(condition.value)
    return None


def _operation_fault(value: Json) -> tuple[str, str] | None:
    if isinstance(value, str):
        if len(value) >= 4 and value.startswith("{{") and value.endswith("}}"):
            return None
        if value in _OPERATIONS:
            return None
        return f"value: {value}", _unknown(value)
    if not isinstance(value, list):
        return "value", (
            f"'value' field found to be of the type {_kind(value)}. The provided value/values are "
            "expected to be either in the form of a string or list"
        )
    for index, member in enumerate(value):
        if not isinstance(member, str):
            return f"value[{index}]", (
                f"'value[{index}]' found to be of the type {go_type(member)}. "
                "The provided values are expected to be strings"
            )
        if member not in _OPERATIONS:
            return f"value[{index}]", _unknown(member)
    return None


def _unknown(value: str) -> str:
    return f"unknown value '{value}' found under the 'value' field. Only {_KNOWN}"


def _kind(value: Json) -> str:
    return "map" if isinstance(value, dict) else go_type(value)


def go_type(value: Json) -> str:
    """The Go type that a literal has in a policy, as `%T` prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "int64"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else "string"
