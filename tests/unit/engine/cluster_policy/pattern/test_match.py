"""Whole patterns: messages in Go's words, depth, time, lists, and what makes one not apply."""

import pytest

from chartkit.engine.cluster_policy.pattern.build import (
    Failure,
    Mismatch,
    MismatchKind,
    Path,
    PatternDepthError,
    Run,
    Spot,
    combine,
    forbidden_key,
    unmet_condition,
    unmet_global,
)
from chartkit.engine.cluster_policy.pattern.match import _compile, compile_pattern
from chartkit.go.strconv import Int64
from chartkit.model import Json
from tests.cpu import ends_soon
from tests.data import from_table


@pytest.mark.parametrize(
    ("pattern", "value", "message"),
    [
        ("x", "y", "resource value 'y' does not match 'x' at path /a/"),
        ("x", None, "resource value '<nil>' does not match 'x' at path /a/"),
        ("x", 1000000, "resource value '1e+06' does not match 'x' at path /a/"),
        (Int64(1000000), "y", "resource value 'y' does not match '1000000' at path /a/"),
        (True, {"b": [1, "c"]}, "resource value 'map[b:[1 c]]' does not match 'true' at path /a/"),
    ],
)
def test_pattern_match_message(pattern: Json, value: Json, message: str) -> None:
    mismatch = compile_pattern({"a": pattern}).check({"a": value})
    assert mismatch is not None
    assert mismatch.message == message


def test_a_scalar_for_a_whole_object() -> None:
    mismatch = compile_pattern("x").check({})
    assert mismatch is not None
    assert mismatch.message == "resource value 'map[]' does not match 'x' at path /"


def test_a_pattern_that_is_nested_too_deep() -> None:
    pattern: Json = 1
    for _ in range(5000):
        pattern = [{"(a)": pattern}]
    with pytest.raises(PatternDepthError):
        compile_pattern(pattern)


def test_a_value_that_is_nested_too_deep_to_be_shown() -> None:
    value: Json = 1
    for _ in range(5000):
        value = {"a": value}
    assert compile_pattern({"a": "*"}).check(value) is None
    with pytest.raises(PatternDepthError):
        compile_pattern({"a": "x"}).check(value)


def test_nested_anchors_take_no_longer_than_their_number() -> None:
    pattern: Json = "x"
    value: Json = "y"
    for _ in range(60):
        pattern, value = {"=(a)": pattern, "(b)": 1}, {"a": value, "b": 1}
    with ends_soon():
        assert compile_pattern(pattern).check(value) is not None


@pytest.mark.parametrize(
    ("wildcard", "held"),
    [("*a" * 30 + "b", False), ("*?a" * 20 + "b", False), ("*b" * 40 + "|" + "a*" * 40, True)],
)
def test_many_wildcards_end_soon(wildcard: str, held: bool) -> None:
    with ends_soon():
        assert (compile_pattern({"a": wildcard}).check({"a": "a" * 5000}) is None) is held


def test_pattern_match_what_comes_in_is_not_changed() -> None:
    pattern = {"metadata": {"labels": {"a*": "v"}}}
    value = {"metadata": {"labels": {"ab": "v"}}}
    compiled = compile_pattern(pattern)
    assert compiled.check(value) is None
    assert pattern == {"metadata": {"labels": {"a*": "v"}}}
    assert value == {"metadata": {"labels": {"ab": "v"}}}


def test_build_path() -> None:
    path = Path().child("spec").child("containers").each().child("ports").each()
    assert path.at((1, 20)) == "/spec/containers/1/ports/20/"
    assert Path().at(()) == "/"


def test_spot_keeps_the_key_as_written() -> None:
    spot = Spot(_compile).key("a", "=(a)").each(0)
    assert (spot.path.at((3,)), spot.position) == ("/a/3/", ("=(a)", "0"))


def test_build_run() -> None:
    run = Run()
    assert not run.is_key_missing
    run.found["(a)"] = False
    assert run.is_key_missing


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


def test_mismatch_kinds() -> None:
    assert unmet_condition("x", "/a/").skips
    assert unmet_global("x", "/a/").skips
    assert not forbidden_key("/a/").skips
    assert forbidden_key("/a/").forbids
    assert not Failure("/a/", "x").skips
    assert not Failure("/a/", "x").forbids


def test_a_condition_around_a_forbidden_key_skips() -> None:
    failure = unmet_condition(forbidden_key("/a/").text, "/a/")
    assert failure.skips
    assert not failure.forbids


def test_texts_count_as_well() -> None:
    assert Failure("/a/", "'conditional anchor mismatch' does not match").skips
    assert Failure("/a/", "'negation anchor matched in resource'").forbids


def test_mismatch_combined() -> None:
    failure = combine([unmet_condition("x", "/a/"), unmet_global("y", "/b/")], "/c/")
    assert failure.text == "conditional anchor mismatch: x; global anchor mismatch: y"
    assert failure.path == "/c/"
    assert failure.combined
    assert failure.skips
