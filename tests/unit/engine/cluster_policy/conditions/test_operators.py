"""Operators, by tables of key, value and answer."""

import pytest

from chartkit.engine.cluster_policy.conditions.parse import OPERATORS
from chartkit.errors import EvaluationError
from chartkit.go.strconv import Int64, mark_literals
from chartkit.model import Json
from tests.data import from_table


def _holds(operator: str, key: Json, value: Json) -> bool:
    return OPERATORS[operator](mark_literals(value))(mark_literals(key))


@from_table("key", "value", "expected")
def test_operators_equals(key: Json, value: Json, expected: bool) -> None:
    assert _holds("Equals", key, value) is expected
    assert _holds("Equal", key, value) is expected
    assert _holds("NotEquals", key, value) is not expected


def test_null_keys_are_neither_equal_nor_different() -> None:
    assert not _holds("Equals", None, None)
    assert not _holds("NotEquals", None, "a")
    assert _holds("NotEquals", "a", None)


def test_objects_of_different_number_types_differ() -> None:
    literal = OPERATORS["Equals"](mark_literals({"a": 1}))
    assert not literal({"a": 1})
    assert literal({"a": Int64(1)})


@from_table("key", "value", "expected")
def test_a_key_in_values(key: Json, value: Json, expected: bool) -> None:
    assert _holds("AnyIn", key, value) is expected
    assert _holds("AllIn", key, value) is expected
    assert _holds("AnyNotIn", key, value) is not expected
    assert _holds("AllNotIn", key, value) is not expected


@from_table("key", "value", "any_in", "all_in", "any_not_in", "all_not_in")
def test_keys_in_values(
    key: Json, value: Json, any_in: bool, all_in: bool, any_not_in: bool, all_not_in: bool
) -> None:
    assert _holds("AnyIn", key, value) is any_in
    assert _holds("AllIn", key, value) is all_in
    assert _holds("AnyNotIn", key, value) is any_not_in
    assert _holds("AllNotIn", key, value) is all_not_in


@from_table("key", "value", "is_in", "is_not_in")
def test_deprecated_membership(key: Json, value: Json, is_in: bool, is_not_in: bool) -> None:
    assert _holds("In", key, value) is is_in
    assert _holds("NotIn", key, value) is is_not_in


@from_table("member", "kind")
def test_deprecated_membership_takes_texts_alone(member: Json, kind: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        _holds("In", [member], ["a"])
    assert raised.value.message == f"interface conversion: interface {{}} is {kind}, not string"


@from_table("key", "value", "order")
def test_operators_order(key: Json, value: Json, order: int | None) -> None:
    assert _holds("GreaterThan", key, value) is (order == 1)
    assert _holds("GreaterThanOrEquals", key, value) is (order in (0, 1))
    assert _holds("LessThan", key, value) is (order == -1)
    assert _holds("LessThanOrEquals", key, value) is (order in (0, -1))


@from_table("key", "value", "order")
def test_operators_durations(key: Json, value: Json, order: int | None) -> None:
    assert _holds("DurationGreaterThan", key, value) is (order == 1)
    assert _holds("DurationGreaterThanOrEquals", key, value) is (order in (0, 1))
    assert _holds("DurationLessThan", key, value) is (order == -1)
    assert _holds("DurationLessThanOrEquals", key, value) is (order in (0, -1))
