"""Patterns compiled to closures: the order of keys and the meaning of anchors are settled once.

An object's keys are looked at in two rounds: condition, existence, equality and negation anchors
sorted by their text, then everything else, with global anchors and whatever holds an anchor
further down in front. A condition that is not met takes its object out; a list is taken out
when every one of its elements is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from chartkit.engine.int64 import Int64, as_floats
from chartkit.engine.pattern.anchors import EARLY, Anchor, Modifier, has_anchors, parse_anchor
from chartkit.engine.pattern.metadata import expand, may_expand
from chartkit.engine.pattern.mismatch import (
    Cause,
    Mismatch,
    MismatchKind,
    Path,
    Problem,
    combined,
    render,
)
from chartkit.engine.pattern.scalars import compile_scalar
from chartkit.engine.values.gofmt import go_sprint
from chartkit.model import Body, Json


class State:
    """What one check remembers: which anchored keys it met, and patterns with expanded keys."""

    __slots__ = ("expanded", "met")

    def __init__(self) -> None:
        self.met: dict[str, bool] = {}
        self.expanded: dict[int, Body] = {}


Check = Callable[[Json, Path, State], Problem | None]
"""Judges a value at a path; None where the pattern holds."""

Member = Callable[[Body, Path, State], Problem | None]
"""Judges one key of an object."""

_WRONG_STRUCTURE: Final = (
    "pattern and resource have different structures. Path: {}. Expected {}, found {}"
)


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_check",)

    def __init__(self, check: Check) -> None:
        self._check = check

    def check(self, value: Json) -> Mismatch | None:
        """What keeps value from matching; None where it matches."""
        state = State()
        problem = self._check(value, None, state)
        if problem is None:
            return None
        if problem.skips:
            return Mismatch(MismatchKind.SKIP, "", problem.text)
        missing = not all(state.met.values())
        path = "" if missing and problem.cause is not Cause.NEGATION else problem.place
        kind = MismatchKind.FAIL if path else MismatchKind.ERROR
        return Mismatch(kind, path, problem.text)


def compile_pattern(body: Json) -> Pattern:
    """A pattern that has no variables left in it; `Int64` in it is an int64. Never raises."""
    return Pattern(_compile(body))


def compile_pattern_cached(body: Json) -> Pattern:
    """As `compile_pattern`, for a pattern that is known only at run time."""
    return Pattern(_compile_text(_dump(body), False))


def _dump(body: Json) -> str:
    """JSON text that keeps int64 and float64 apart: `1` and `1.0`."""
    return json.dumps(as_floats(body))


@lru_cache(maxsize=512)
def _compile_text(text: str, expanded: bool) -> Check:
    body = json.loads(text, parse_int=Int64)
    return _compile_map(body) if expanded else _compile(body)


def _compile(pattern: Json) -> Check:
    if isinstance(pattern, dict):
        return _compile_expanding(pattern) if may_expand(pattern) else _compile_map(pattern)
    if isinstance(pattern, list):
        return _compile_list(pattern)
    return _compile_value(pattern)


def _compile_value(pattern: Json) -> Check:
    holds = compile_scalar(pattern)

    def check(value: Json, path: Path, _state: State) -> Problem | None:
        if value.__class__ is list:
            if all(map(holds, value)):
                return None
        elif holds(value):
            return None
        return Problem(Cause.PLAIN, path, lambda: _differs(value, pattern, path))

    return check


def _differs(value: Json, pattern: Json, path: Path) -> str:
    found, wanted = go_sprint(value), go_sprint(pattern)
    return f"resource value '{found}' does not match '{wanted}' at path {render(path)}"


def _compile_map(pattern: Body) -> Check:
    anchored = {key: anchor for key in pattern if (anchor := parse_anchor(key)) is not None}
    early = sorted(key for key, anchor in anchored.items() if anchor.modifier in EARLY)
    tracked = [
        (key, anchored[key].key)
        for key in early
        if anchored[key].modifier in (Modifier.CONDITION, Modifier.EXISTENCE)
    ]
    first = [_compile_anchor(anchored[key], pattern[key]) for key in early]
    second = [_compile_member(key, pattern[key]) for key in _late_keys(pattern, set(early))]

    def check(value: Json, path: Path, state: State) -> Problem | None:
        if value.__class__ is not dict:
            return Problem(Cause.PLAIN, path, lambda: _other_structure(value, path))
        for key, name in tracked:
            state.met[key] = state.met.get(key, False) or name in value
        if first:
            problem = _check_anchors(first, value, path, state)
            if problem is not None:
                return problem
        for member in second:
            problem = member(value, path, state)
            if problem is not None:
                return problem
        return None

    return check


def _check_anchors(anchors: list[Member], value: Body, path: Path, state: State) -> Problem | None:
    skipped: list[Problem] = []
    applied = False
    for anchor in anchors:
        problem = anchor(value, path, state)
        if problem is None:
            applied = True
        elif problem.skips:
            skipped.append(problem)
        elif not _has_condition(skipped):
            return problem
    if skipped and (not applied or _has_condition(skipped)):
        return combined(path, skipped)
    return None


def _has_condition(problems: list[Problem]) -> bool:
    return any(problem.cause is Cause.CONDITION for problem in problems)


def _late_keys(pattern: Body, early: set[str]) -> list[str]:
    front: list[str] = []
    back: list[str] = []
    for key in sorted(pattern.keys() - early):
        anchor = parse_anchor(key)
        is_global = anchor is not None and anchor.modifier is Modifier.GLOBAL
        if is_global or has_anchors(pattern[key]):
            front.insert(0, key)
        else:
            back.append(key)
    return front + back


def _compile_member(key: str, pattern: Json) -> Member:
    anchor = parse_anchor(key)
    if anchor is not None and anchor.modifier is Modifier.GLOBAL:
        return _compile_anchor(anchor, pattern)
    if pattern == "*":
        return _compile_present(key)
    check = _compile(pattern)
    return lambda value, path, state: check(value.get(key), (path, key), state)


def _compile_present(key: str) -> Member:
    def member(value: Body, path: Path, _state: State) -> Problem | None:
        if value.get(key) is not None:
            return None
        return Problem(Cause.PLAIN, path, lambda: f"{render(path)}/{key} not found")

    return member


def _compile_anchor(anchor: Anchor, pattern: Json) -> Member:
    return _ANCHORS[anchor.modifier](anchor.key, pattern)


def _compile_condition(key: str, pattern: Json) -> Member:
    check = _compile(pattern)

    def member(value: Body, path: Path, state: State) -> Problem | None:
        here = (path, key)
        if key not in value:
            return Problem(Cause.CONDITION, here, lambda: f"{_UNMET}{_NO_KEY}")
        problem = check(value[key], here, state)
        if problem is None:
            return None
        return Problem(Cause.CONDITION, problem.path, lambda: _UNMET + problem.text)

    return member


_UNMET: Final = "conditional anchor mismatch: "
_NO_KEY: Final = "conditional anchor key doesn't exist in the resource"


def _compile_global(key: str, pattern: Json) -> Member:
    check = _compile(pattern)

    def member(value: Body, path: Path, state: State) -> Problem | None:
        if key not in value:
            return None
        problem = check(value[key], (path, key), state)
        if problem is None:
            return None
        text = problem
        return Problem(
            Cause.CONDITION, problem.path, lambda: "global anchor mismatch: " + text.text
        )

    return member


def _compile_equality(key: str, pattern: Json) -> Member:
    check = _compile(pattern)

    def member(value: Body, path: Path, state: State) -> Problem | None:
        return check(value[key], (path, key), state) if key in value else None

    return member


def _compile_negation(key: str, _pattern: Json) -> Member:
    def member(value: Body, path: Path, _state: State) -> Problem | None:
        if key not in value:
            return None
        here = (path, key)
        return Problem(
            Cause.NEGATION,
            here,
            lambda: f"negation anchor matched in resource: {render(here)} is not allowed",
        )

    return member


def _compile_existence(key: str, pattern: Json) -> Member:
    wanted, wrong = _existence_checks(pattern)

    def member(value: Body, path: Path, state: State) -> Problem | None:
        if key not in value:
            return None
        items, here = value[key], (path, key)
        if items.__class__ is not list:
            return Problem(Cause.PLAIN, here, lambda: _NOT_LIST.format(_go_type(items)))
        for check in wanted:
            if not _any_item(check, items, here, state):
                return Problem(
                    Cause.PLAIN,
                    here,
                    lambda: f"existence anchor validation failed at path {render(here)}",
                )
        return Problem(Cause.PLAIN, here, lambda: wrong) if wrong else None

    return member


_NOT_LIST: Final = (
    "invalid resource type {}: Existence ^ () anchor can be used only on list/array type resource"
)


def _existence_checks(pattern: Json) -> tuple[list[Check], str]:
    """The checks of an existence anchor's elements, and what is wrong about the one after them."""
    if not isinstance(pattern, list):
        kind = _go_type(pattern)
        return (
            [],
            f"invalid pattern type {kind}: Pattern has to be of list to compare against resource",
        )
    checks: list[Check] = []
    for element in pattern:
        if not isinstance(element, dict):
            return checks, (
                f"invalid pattern type {_go_type(element)}: "
                "Pattern has to be of type map to compare against items in resource"
            )
        checks.append(_compile(element))
    return checks, ""


def _any_item(check: Check, items: list[Json], path: Path, state: State) -> bool:
    # Every element up to the first that fits is looked at: it marks the anchored keys it has.
    return any(check(item, (path, str(at)), state) is None for at, item in enumerate(items))


_ANCHORS: Final[dict[Modifier, Callable[[str, Json], Member]]] = {
    Modifier.CONDITION: _compile_condition,
    Modifier.GLOBAL: _compile_global,
    Modifier.EQUALITY: _compile_equality,
    Modifier.NEGATION: _compile_negation,
    Modifier.EXISTENCE: _compile_existence,
}


def _compile_list(pattern: list[Json]) -> Check:
    if not pattern:
        return _of_list(
            lambda _v, path, _s: Problem(Cause.PLAIN, path, lambda: "pattern Array empty")
        )
    first = pattern[0]
    if isinstance(first, dict):
        return _of_list(_compile_each(_compile(first)))
    if not isinstance(first, list):
        return _of_list(_compile_value(first))
    return _of_list(_compile_positions([_compile(element) for element in pattern]))


def _of_list(check: Check) -> Check:
    def checked(value: Json, path: Path, state: State) -> Problem | None:
        if value.__class__ is list:
            return check(value, path, state)
        return Problem(Cause.PLAIN, path, lambda: _NO_OVERLAY.format(render(path)))

    return checked


_NO_OVERLAY: Final = (
    "validation rule failed at path {}, resource does not satisfy the expected overlay pattern"
)


def _compile_each(check: Check) -> Check:
    def each(value: Json, path: Path, state: State) -> Problem | None:
        skipped: list[Problem] = []
        applied = False
        for index, item in enumerate(value):
            problem = check(item, (path, str(index)), state)
            if problem is None:
                applied = True
            elif problem.skips:
                skipped.append(problem)
            else:
                return problem
        return combined(path, skipped) if skipped and not applied else None

    return each


def _compile_positions(checks: list[Check]) -> Check:
    def positions(value: Json, path: Path, state: State) -> Problem | None:
        if len(value) < len(checks):
            lengths = f"resource Array len is {len(value)} and pattern Array len is {len(checks)}"
            text = f"validate Array failed, array length mismatch, {lengths}"
            return Problem(Cause.PLAIN, "", lambda: text)
        skipped: list[Problem] = []
        for index, check in enumerate(checks):
            problem = check(value[index], (path, str(index)), state)
            if problem is not None:
                if not problem.skips:
                    return problem
                skipped.append(problem)
        return combined(path, skipped) if len(skipped) == len(checks) else None

    return positions


def _compile_expanding(pattern: Body) -> Check:
    plain = _compile_map(pattern)

    def check(value: Json, path: Path, state: State) -> Problem | None:
        if value.__class__ is not dict:
            return plain(value, path, state)
        # Kyverno expands in place: what one element of a list chose holds for the next ones.
        current = state.expanded.get(id(pattern), pattern)
        expanded = state.expanded[id(pattern)] = expand(current, value)
        if expanded is pattern:
            return plain(value, path, state)
        return _compile_text(_dump(expanded), True)(value, path, state)

    return check


def _other_structure(value: Json, path: Path) -> str:
    return _WRONG_STRUCTURE.format(render(path), "map[string]interface {}", _go_type(value))


def _go_type(value: Json) -> str:
    if value is None:
        return "<nil>"
    return _GO_TYPES[type(value)]


_GO_TYPES: Final[dict[type, str]] = {
    str: "string",
    bool: "bool",
    int: "float64",
    Int64: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}
