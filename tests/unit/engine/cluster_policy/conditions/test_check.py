"""What Kyverno refuses in conditions."""

import pytest

from chartkit.engine.cluster_policy.conditions.parse import check_conditions
from chartkit.model import Json
from tests.data import from_table

MISSING = "entered value of `key`, `value` or `operator` is missing or misspelled"
OPERATION = "{{ request.operation }}"


def _condition(key: Json, operator: Json, value: Json) -> Json:
    return {"key": key, "operator": operator, "value": value}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (None, None),
        ({"any": [_condition(1, "Equals", 1)], "all": []}, None),
        ({"any": [_condition(1, "Equals", None)]}, f"preconditions.any[0].: {MISSING}"),
        ({"all": [_condition(None, "Equals", 1)]}, f"preconditions.all[0].: {MISSING}"),
        ([_condition(1, "Equal", 1), {"Value": 1}], f"preconditions[1].: {MISSING}"),
        ([_condition(OPERATION, "Equals", "CREATE")], None),
        ([_condition(OPERATION, "Equals", "{{ x }}")], None),
        ([_condition(OPERATION, "AnyIn", ["CREATE", "DELETE"])], None),
    ],
)
def test_check(body: Json, fault: str | None) -> None:
    assert check_conditions(body, "preconditions") == fault


@from_table("value", "start")
def test_condition_check_operations(value: Json, start: str) -> None:
    body = [_condition(OPERATION, "Equals", value)]
    fault = check_conditions(body, "preconditions")
    assert fault is not None
    assert fault.startswith(start)


def test_condition_check_operators() -> None:
    body = {"all": [_condition(1, "equals", 1)]}
    fault = check_conditions(body, "conditions")
    assert fault is not None
    assert fault.startswith("conditions.any[0].: entered value of `operator` is invalid. valid val")
    assert '"DurationLessThan"' in fault


def test_values_may_be_left_out() -> None:
    body = [_condition(1, "Equals", None)]
    assert check_conditions(body, "conditions", values=False) is None
