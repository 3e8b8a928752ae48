"""Operators, by tables of key, value and answer."""

import pytest

from chartkit.engine.cluster_policy.conditions.parse import OPERATORS
from chartkit.errors import EvaluationError
from chartkit.go.strconv import Int64, mark_literals
from chartkit.model import Json


def _holds(operator: str, key: Json, value: Json) -> bool:
    return OPERATORS[operator](mark_literals(value))(mark_literals(key))


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("a", "a", True),
        ("abc", "a*", True),
        ("a*", "abc", False),
        (1, "1", True),
        ("1", 1, False),
        (1, 1.0, True),
        (1.5, "1.5", True),
        (True, True, True),
        (True, "true", False),
        ("1h", 3600, True),
        (3600, "1h", False),
        ("60m", "1h", True),
        ("0s", "0", False),
        ("1Gi", "1024Mi", True),
        ("1e3", "1000", True),
        ("1Gi", "x", False),
        ("5", ">3", False),
        ([1, "a"], [1, "a"], True),
        ([1], ["1"], False),
        ({"a": [None]}, {"a": [None]}, True),
        ({"a": 1}, {"a": 2}, False),
        ("a", ["a"], False),
    ],
)
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


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("a", ["a", "b"], True),
        ("abc", ["a*"], True),
        ("a*", ["abc"], True),
        ("c", ["a", "b"], False),
        ("abc", "a*", True),
        ("5", "1-10", True),
        ("11", "1-10", False),
        ("5Mi", "1Mi-1Gi", True),
        ("5", ["1-10"], False),
        ("a", '["a", "b"]', True),
        ("ab", '["a*"]', False),
        (1000000, ["1e+06"], True),
        (1000000, [1000000], False),
        (1, [1], True),
        (True, ["true"], True),
    ],
)
def test_a_key_in_values(key: Json, value: Json, expected: bool) -> None:
    assert _holds("AnyIn", key, value) is expected
    assert _holds("AllIn", key, value) is expected
    assert _holds("AnyNotIn", key, value) is not expected
    assert _holds("AllNotIn", key, value) is not expected


@pytest.mark.parametrize(
    ("key", "value", "any_in", "all_in", "any_not_in", "all_not_in"),
    [
        (["a", "b"], ["a"], True, False, True, False),
        (["a"], ["a*"], True, True, False, False),
        (["c"], ["a", "b"], False, False, True, True),
        ([], ["a"], False, True, False, True),
        (["1", "50"], "1-10", True, False, True, False),
        (["20", "50"], "1-10", False, False, True, True),
        (["1", "5"], "1-10", True, True, False, False),
        (["a"], "a", True, True, False, False),
        (["ab"], '["a*"]', True, True, False, False),
        (["1"], "[1, 2]", False, False, False, False),
        ([5], 5, True, False, False, False),
        ([["a"]], ["[a]"], True, True, False, False),
        (["a"], None, False, False, False, False),
        ({"a": 1}, [{"a": 1}], False, False, False, False),
        (1, 1, False, False, False, False),
    ],
)
def test_keys_in_values(
    key: Json, value: Json, any_in: bool, all_in: bool, any_not_in: bool, all_not_in: bool
) -> None:
    assert _holds("AnyIn", key, value) is any_in
    assert _holds("AllIn", key, value) is all_in
    assert _holds("AnyNotIn", key, value) is any_not_in
    assert _holds("AllNotIn", key, value) is all_not_in


@pytest.mark.parametrize(
    ("key", "value", "is_in", "is_not_in"),
    [
        ("a", ["a*"], True, False),
        ("a", "a*", True, False),
        ("a", '["a"]', True, False),
        ("b", '["a"]', False, True),
        ("b", "a", False, False),
        (["a"], ["a", "b"], True, False),
        (["a"], ["a*"], False, True),
        (["a"], "a", True, True),
        (["a"], [1], False, False),
        ([], ["a"], True, False),
        (None, ["a"], False, False),
    ],
)
def test_deprecated_membership(key: Json, value: Json, is_in: bool, is_not_in: bool) -> None:
    assert _holds("In", key, value) is is_in
    assert _holds("NotIn", key, value) is is_not_in


@pytest.mark.parametrize(
    ("member", "kind"),
    [
        (1, "int64"),
        (1.5, "float64"),
        (True, "bool"),
        (None, "nil"),
        ([], "[]interface {}"),
        ({}, "map[string]interface {}"),
    ],
)
def test_deprecated_membership_takes_texts_alone(member: Json, kind: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        _holds("In", [member], ["a"])
    assert raised.value.message == f"interface conversion: interface {{}} is {kind}, not string"


@pytest.mark.parametrize(
    ("key", "value", "order"),
    [
        (1, 2, -1),
        (2, "1.5", 1),
        ("10", "9", 1),
        ("1_000", 999, 1),
        ("500m", 1, 1),
        ("100m", "1h", 1),
        ("30m", "1", -1),
        ("1Gi", "1G", 1),
        ("1h", 3600, 0),
        (3600, "1h", 0),
        ("1.2.3", "1.10.0", -1),
        ("1.2.3-rc.1", "1.2.3", -1),
        ("30s", "1Gi", None),
        ("1Gi", 1, None),
        ("v1.2.3", "1.0.0", None),
        (True, 1, None),
        (1, True, None),
        (None, 1, None),
        ([1], 1, None),
    ],
)
def test_operators_order(key: Json, value: Json, order: int | None) -> None:
    assert _holds("GreaterThan", key, value) is (order == 1)
    assert _holds("GreaterThanOrEquals", key, value) is (order in (0, 1))
    assert _holds("LessThan", key, value) is (order == -1)
    assert _holds("LessThanOrEquals", key, value) is (order in (0, -1))


@pytest.mark.parametrize(
    ("key", "value", "order"),
    [
        ("1h", "60m", 0),
        (1.9, 1, 0),
        ("500ms", 0.5, 1),
        (2, "1s", 1),
        ("1s", 2, -1),
        ("x", "1s", None),
        ("1s", "x", None),
        ("1s", None, None),
        (True, "1s", None),
    ],
)
def test_operators_durations(key: Json, value: Json, order: int | None) -> None:
    assert _holds("DurationGreaterThan", key, value) is (order == 1)
    assert _holds("DurationGreaterThanOrEquals", key, value) is (order in (0, 1))
    assert _holds("DurationLessThan", key, value) is (order == -1)
    assert _holds("DurationLessThanOrEquals", key, value) is (order in (0, -1))
