"""Patterns compiled once and compared with many values (`pkg/engine/validate` in Kyverno)."""

from __future__ import annotations

from typing import Final

from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.pattern.build import (
    LIST,
    Build,
    Check,
    Failure,
    Mismatch,
    MismatchKind,
    Part,
    PatternDepthError,
    Places,
    Run,
    Spot,
    combine,
    weight_of,
)
from chartkit.engine.cluster_policy.pattern.objects import compile_object
from chartkit.engine.cluster_policy.pattern.scalar import compile_scalar
from chartkit.go.fmt import go_sprint
from chartkit.model import Json


def compile_list(pattern: list[Json], spot: Spot, build: Build) -> Check:
    """Compares a list with a list pattern; its first element decides how."""
    inner = _compile_inner(pattern, spot, build)
    path, part = spot.path, Part(spot.path, pattern, spot.position)

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


def _compile_inner(pattern: list[Json], spot: Spot, build: Build) -> Check:
    if not pattern:
        path = spot.path
        return lambda _value, places, _run: Failure(path.at(places), "pattern Array empty")
    first = pattern[0]
    if isinstance(first, dict):
        return _every_object(build.part(first, spot.each(0)), spot, weight_of(first))
    if isinstance(first, list):
        return _each_place(pattern, spot, build)
    return build.part(first, spot)


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


def _each_place(pattern: list[Json], spot: Spot, build: Build) -> Check:
    path, part = spot.path, Part(spot.path, pattern, spot.position)
    checks = [
        build.part(one, spot.key(str(index), str(index))) for index, one in enumerate(pattern)
    ]

    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if len(value) < len(checks):
            return Failure(
                "",
                "validate Array failed, array length mismatch, "
                f"resource Array len is {len(value)} and pattern Array len is {len(checks)}",
                place=(part, places),
            )
        skipped: list[Failure] = []
        for one, element in zip(checks, value, strict=False):
            failure = one(element, places, run)
            if failure is None:
                continue
            if not failure.skips:
                return failure
            skipped.append(failure)
        if len(skipped) == len(checks):
            return combine(skipped, path.at(places))
        return None

    return check


_SHORT: Final = 1024
"""The longest text in a message that is not counted."""


class Pattern:
    """A compiled pattern without variables."""

    __slots__ = ("_check",)

    def __init__(self, check: Check) -> None:
        self._check = check

    def check(
        self,
        value: Json,
        budget: Budget | None = None,
        absent: list[tuple[Part, Places]] | None = None,
    ) -> Mismatch | None:
        """Compares a value; None where the pattern holds. budget: that of the rule; absent: takes
        the optional parts that the value does not have.

        Raises `PatternDepthError` for a value that is nested too deep to be shown, `BudgetError`.
        """
        run = Run(budget, absent)
        try:
            failure = self._check(value, (), run)
        except RecursionError:
            raise PatternDepthError("the value is nested too deep to be compared") from None
        return None if failure is None else _judge(failure, run)


def _judge(failure: Failure, run: Run) -> Mismatch:
    if failure.skips:
        return Mismatch(MismatchKind.SKIP, "", failure.text, failure.place)
    if failure.path and (failure.forbids or not run.is_key_missing):
        return Mismatch(MismatchKind.FAIL, failure.path, failure.text, failure.place)
    return Mismatch(MismatchKind.ERROR, "", failure.text, failure.place)


def compile_pattern(body: Json) -> Pattern:
    """Compiles a pattern; raises `PatternDepthError` for one that is nested too deep.

    body: as written, its whole numbers marked where they are int64 (`chartkit.go.strconv`): an
    int64 pattern takes the text `1`, a float64 one `1.0` as well.
    """
    try:
        return Pattern(Build(_compile).part(body, Spot()))
    except RecursionError:
        raise PatternDepthError("the pattern is nested too deep") from None


def _compile(pattern: Json, spot: Spot, build: Build) -> Check:
    if isinstance(pattern, dict):
        return compile_object(pattern, spot, build)
    if isinstance(pattern, list):
        return compile_list(pattern, spot, build)
    return _leaf(pattern, spot)


def _leaf(pattern: Json, spot: Spot) -> Check:
    holds, path = compile_scalar(pattern), spot.path
    part = Part(path, pattern, spot.position)
    wanted = go_sprint(pattern)

    def check(value: Json, places: Places, run: Run) -> Failure | None:
        if holds(value) or (isinstance(value, list) and all(map(holds, value))):
            return None
        at = path.at(places)
        if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > _SHORT):
            run.budget.weigh(value, "a value in a message")
        found = go_sprint(value)
        text = f"resource value '{found}' does not match '{wanted}' at path {at}"
        return Failure(at, text, place=(part, places))

    return check
