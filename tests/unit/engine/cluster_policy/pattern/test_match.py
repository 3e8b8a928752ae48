"""Whole patterns: messages in Go's words, depth, time."""

import pytest

from chartkit.engine.cluster_policy.pattern import PatternDepthError, compile_pattern
from chartkit.go.strconv import Int64
from chartkit.model import Json
from tests.cpu import ends_soon


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
