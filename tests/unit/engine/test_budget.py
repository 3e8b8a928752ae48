"""The budget of rules: what stops them, in which words, and what is left for the next rule."""

from typing import Any

import pytest

from chartkit.engine.budget import (
    MAX_BYTES,
    MAX_OBJECT,
    MAX_STEPS,
    RULES,
    Budget,
    BudgetError,
    check_object,
)
from tests.data import from_table


def test_steps_beyond_the_limit_raise() -> None:
    budget = Budget()
    budget.spend(MAX_STEPS, "a loop")
    with pytest.raises(BudgetError, match=r"the rule takes more than 10,000,000 steps, .* a loop:"):
        budget.spend(1, "a loop")


def test_bytes_beyond_the_limit_raise() -> None:
    budget = Budget()
    with pytest.raises(BudgetError, match="more than 16,777,216 bytes, the last of them for join"):
        budget.take(MAX_BYTES + 1, "join()")


def test_the_next_rule_has_a_budget_of_its_own() -> None:
    budget = Budget()
    with pytest.raises(BudgetError):
        budget.spend(MAX_STEPS + 1, "a loop")
    assert budget.end() is not None
    budget.spend(MAX_STEPS, "a loop")
    assert budget.end() is None


def test_all_rules_of_a_request_share_what_it_has() -> None:
    budget = Budget()
    for _ in range(RULES):
        budget.spend(MAX_STEPS, "a loop")
        assert budget.end() is None
    with pytest.raises(BudgetError, match=r"rules of this request together take more than 40,000"):
        budget.spend(1, "a loop")


def test_what_stands_in_many_places_weighs_in_each() -> None:
    value: list[object] = ["x"]
    for _ in range(40):
        value = [value, value]
    with pytest.raises(BudgetError):
        Budget().weigh(value, "a value")


def test_an_object_that_no_server_takes_is_refused() -> None:
    check_object({"a": "x" * 1000}, "the object")
    with pytest.raises(BudgetError, match=r"the object would have 3,145,736 bytes"):
        check_object({"a": "x" * MAX_OBJECT}, "the object")


@from_table("value", "count")
def test_an_object_too_large_for_an_api_server_is_found_by_its_json(value: Any, count: int) -> None:
    with pytest.raises(BudgetError, match="an API server takes"):
        check_object({"spec": [value] * count}, "the object")
    check_object({"spec": [value] * (count // 3)}, "the object")
