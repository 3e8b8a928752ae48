"""Every operator of a condition, by the name that a policy writes.

An operator is prepared with the condition's value, once where the value is a constant, and the
comparison that comes out is called with keys.
"""

from __future__ import annotations

from chartkit.engine.cluster_policy.conditions.comparison import (
    Prepare,
    compare_durations,
    compare_numbers,
    equals,
    not_equals,
)
from chartkit.engine.cluster_policy.conditions.membership import (
    all_in,
    all_not_in,
    any_in,
    any_not_in,
    is_in,
    is_not_in,
)

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
