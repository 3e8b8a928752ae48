"""List patterns: for every element, or place by place."""

import pytest

from chartkit.engine.cluster_policy.pattern import Mismatch, MismatchKind, compile_pattern
from chartkit.model import Json
from tests.data import from_table


def _check(pattern: Json, value: Json) -> Mismatch | None:
    return compile_pattern({"a": pattern}).check({"a": value})


def _failed(pattern: Json, value: Json) -> Mismatch:
    mismatch = _check(pattern, value)
    assert mismatch is not None
    return mismatch


@from_table("pattern", "value", "path")
def test_list(pattern: Json, value: Json, path: str | None) -> None:
    mismatch = _check(pattern, value)
    assert (mismatch.path if mismatch else None) == path


def test_too_few_elements_is_an_error() -> None:
    mismatch = _check([["x"], ["y"]], [["x"]])
    assert mismatch == Mismatch(
        MismatchKind.ERROR,
        "",
        "validate Array failed, array length mismatch, "
        "resource Array len is 1 and pattern Array len is 2",
    )


def test_pattern_lists_texts() -> None:
    assert _failed([], []).message == "pattern Array empty"
    assert _failed(["x"], "x").message == (
        "validation rule failed at path /a/, resource does not satisfy the expected overlay pattern"
    )


def test_elements_without_the_condition_are_passed_over() -> None:
    pattern = [{"(n)": "x", "v": 1}]
    assert _check(pattern, [{"n": "y", "v": 2}, {"n": "x", "v": 1}]) is None
    assert _failed(pattern, [{"n": "y"}, {"n": "x", "v": 2}]).path == "/a/1/v/"


@pytest.mark.parametrize("pattern", [[{"(n)": "x"}], [[{"(n)": "x"}], [{"(n)": "x"}]]])
def test_no_element_with_the_condition(pattern: Json) -> None:
    value = [{"n": "y"}, {"n": "z"}]
    skipped = _failed(pattern, value if isinstance(pattern[0], dict) else [value, value])
    assert skipped.kind is MismatchKind.SKIP
    assert skipped.message.count("conditional anchor mismatch") in (2, 4)


def test_a_place_without_the_condition_is_passed_over() -> None:
    assert _check([[{"(n)": "x"}], [{"n": "z"}]], [[{"n": "y"}], [{"n": "z"}]]) is None
