"""Lists in patterns."""

from __future__ import annotations

from chartkit.engine.cluster_policy.pattern.build import (
    LIST,
    Check,
    Failure,
    Places,
    Run,
    Spot,
    combine,
    weight_of,
)
from chartkit.model import Json


def compile_list(pattern: list[Json], spot: Spot) -> Check:
    """Compares a list with a list pattern; its first element decides how."""
    inner, path, part = _compile_inner(pattern, spot), spot.path, spot.part(pattern)

    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if isinstance(value, list):
            return inner(value, places, run)
        at = path.at(places)
        return Failure(
            at,
            f"validation rule failed at path {at}, "
            "resource does not satisfy the expected overlay pattern",
            place=(part, places),
        )

    return check


def _every_object(check_one: Check, spot: Spot, weight: int) -> Check:
    path = spot.path

    def check(value: Json, places: Places, run: Run) -> Failure | None:
        skipped: list[Failure] = []
        budget = run.budget
        budget.steps -= len(value) * weight
        if budget.steps < 0:
            budget.spend(0, LIST)
        for index, element in enumerate(value):
            failure = check_one(element, (*places, index), run)
            if failure is None:
                continue
            if not failure.skips:
                return failure
            skipped.append(failure)
        if skipped and len(skipped) == len(value):
            return combine(skipped, path.at(places))
        return None

    return check


def _each_place(pattern: list[Json], spot: Spot) -> Check:
    path, part = spot.path, spot.part(pattern)
    checks = [spot.key(str(index), str(index)).check(item) for index, item in enumerate(pattern)]

    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if len(value) < len(checks):
            return Failure(
                "",
                "validate Array failed, array length mismatch, "
                f"resource Array len is {len(value)} and pattern Array len is {len(checks)}",
                place=(part, places),
            )
        skipped: list[Failure] = []
        for check, element in zip(checks, value, strict=False):
            failure = check(element, places, run)
            if failure is None:
                continue
            if not failure.skips:
                return failure
            skipped.append(failure)
        if len(skipped) == len(checks):
            return combine(skipped, path.at(places))
        return None

    return check


def _compile_inner(pattern: list[Json], spot: Spot) -> Check:
    if not pattern:
        path = spot.path
        return lambda _value, places, _run: Failure(path.at(places), "pattern Array empty")
    first = pattern[0]
    if isinstance(first, dict):
        return _every_object(spot.each(0).check(first), spot, weight_of(first))
    if isinstance(first, list):
        return _each_place(pattern, spot)
    return spot.check(first)
