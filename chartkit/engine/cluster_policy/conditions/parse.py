"""Conditions as they stand in a policy, read as Go's JSON decoder reads them, and Kyverno's checks
of them before it accepts the policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from chartkit.engine.cluster_policy.conditions.operators import (
    Prepare,
    all_in,
    all_not_in,
    any_in,
    any_not_in,
    compare_durations,
    compare_numbers,
    equals,
    is_in,
    is_not_in,
    not_equals,
)
from chartkit.engine.cluster_policy.policy import ConditionsMalformed
from chartkit.go.fmt import go_type
from chartkit.go.strconv import mark_literals
from chartkit.model import Json

OPERATORS: dict[str, Prepare] = {
    "Equal": equals,
    "Equals": equals,
    "NotEqual": not_equals,
    "NotEquals": not_equals,
    "In": is_in,
    "AnyIn": any_in,
    "AllIn": all_in,
    "NotIn": is_not_in,
    "AnyNotIn": any_not_in,
    "AllNotIn": all_not_in,
    "GreaterThanOrEquals": compare_numbers(">="),
    "GreaterThan": compare_numbers(">"),
    "LessThanOrEquals": compare_numbers("<="),
    "LessThan": compare_numbers("<"),
    "DurationGreaterThanOrEquals": compare_durations(">="),
    "DurationGreaterThan": compare_durations(">"),
    "DurationLessThanOrEquals": compare_durations("<="),
    "DurationLessThan": compare_durations("<"),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison as written; None means null or missing."""

    key: Json
    operator: str
    value: Json
    message: str
    source: Json = field(default=None, compare=False, repr=False)

    @property
    def identity(self) -> tuple[int, int, str]:
        """The same for conditions that a YAML alias repeats, while their policy is in memory."""
        return id(self.key), id(self.value), self.operator


class Blocks(NamedTuple):
    """An any/all block. A missing or null list is None."""

    any: tuple[Condition, ...] | None
    all: tuple[Condition, ...] | None


class FlatList(NamedTuple):
    """The old form: a list whose conditions must all hold."""

    conditions: tuple[Condition, ...]


def parse_conditions(body: Json) -> Blocks | FlatList:
    """Reads the value of `preconditions` or `conditions`; raises `ConditionsMalformed`.

    Keys match in any case, unknown keys are passed over, null counts as missing.
    """
    if body is None:
        return Blocks(None, None)
    if isinstance(body, list):
        return FlatList(tuple(map(_condition, body)))
    fields = _fields(body, ("any", "all"))
    return Blocks(_conditions(fields.get("any"), "any"), _conditions(fields.get("all"), "all"))


def _conditions(body: Json, name: str) -> tuple[Condition, ...] | None:
    if body is None:
        return None
    if not isinstance(body, list):
        raise ConditionsMalformed(
            f"'{name}' must be a list of conditions", hint="write each condition as a list item"
        )
    return tuple(map(_condition, body))


def _condition(body: Json) -> Condition:
    if body is None:
        body = {}
    fields = _fields(body, ("key", "operator", "value", "message"))
    return Condition(
        fields.get("key"),
        _text(fields.get("operator"), "operator"),
        fields.get("value"),
        _text(fields.get("message"), "message"),
        body,
    )


def _fields(body: Json, names: tuple[str, ...]) -> dict[str, Json]:
    if not isinstance(body, dict):
        raise ConditionsMalformed(
            f"conditions must be an object with {', '.join(names)}, not {type(body).__name__}"
        )
    # JSON's keys come sorted out of YAML, and the last of several spellings wins.
    folded = {key.lower(): body[key] for key in sorted(body)}
    return {name: folded[name] for name in names if name in folded}


def _text(value: Json, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConditionsMalformed(f"'{name}' of a condition must be a string")
    return value


_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_KNOWN = f"the following values are allowed: [{', '.join(_OPERATIONS)}]"
_INVALID_OPERATOR = (
    "entered value of `operator` is invalid. valid values: ["
    + " ".join(f'"{name}"' for name in OPERATORS)
    + "]"
)


def check_conditions(body: Json, path: str, *, values: bool = True) -> str | None:
    """The first fault of the conditions, as `place` and text in Kyverno's words; None if sound.

    path: `preconditions`, `conditions` and so on, with what stands before it; values: whether
    keys and values are looked at beside the operators (Kyverno leaves them out in a foreach).
    Raises `ConditionsMalformed`.
    """
    parsed = parse_conditions(body)
    if values:
        for where, condition in _with_places(parsed, path, all_name="all"):
            if fault := _value_fault(condition):
                return f"{where}.{fault[0]}: {fault[1]}"
    # Kyverno names the `any` block for an operator that stands in `all`.
    for where, condition in _with_places(parsed, path, all_name="any"):
        if condition.operator not in OPERATORS:
            return f"{where}.: {_INVALID_OPERATOR}"
    return None


def _with_places(
    parsed: Blocks | FlatList, path: str, all_name: str
) -> Iterator[tuple[str, Condition]]:
    if isinstance(parsed, FlatList):
        lists = [(path, parsed.conditions)]
    else:
        lists = [(f"{path}.any", parsed.any or ()), (f"{path}.{all_name}", parsed.all or ())]
    for name, conditions in lists:
        for index, condition in enumerate(conditions):
            yield f"{name}[{index}]", condition


def _value_fault(condition: Condition) -> tuple[str, str] | None:
    if condition.key is None or condition.value is None or not condition.operator:
        return "", "entered value of `key`, `value` or `operator` is missing or misspelled"
    key = condition.key
    if isinstance(key, str) and key.replace(" ", "") == "{{request.operation}}":
        value = condition.value
        if isinstance(value, str):
            if len(value) >= 4 and value.startswith("{{") and value.endswith("}}"):
                return None
            if value in _OPERATIONS:
                return None
            return f"value: {value}", _unknown(value)
        if not isinstance(value, list):
            kind = "map" if isinstance(value, dict) else _go_type(value)
            return "value", (
                f"'value' field found to be of the type {kind}. The provided value/values are "
                "expected to be either in the form of a string or list"
            )
        for index, member in enumerate(value):
            if not isinstance(member, str):
                return f"value[{index}]", (
                    f"'value[{index}]' found to be of the type {_go_type(member)}. "
                    "The provided values are expected to be strings"
                )
            if member not in _OPERATIONS:
                return f"value[{index}]", _unknown(member)
        return None
    return None


def _unknown(value: str) -> str:
    return f"unknown value '{value}' found under the 'value' field. Only {_KNOWN}"


def _go_type(value: Json) -> str:
    (marked,) = mark_literals([value])
    return go_type(marked)
