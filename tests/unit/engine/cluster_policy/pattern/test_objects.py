"""Several keys in one object: their order, and what a condition does to its neighbours."""

import pytest

from chartkit.engine.cluster_policy.pattern import Mismatch, MismatchKind, compile_pattern
from chartkit.model import Body, Json
from tests.data import from_table


def _check(pattern: Json, value: Json) -> Mismatch:
    mismatch = compile_pattern(pattern).check(value)
    assert mismatch is not None
    return mismatch


@from_table("pattern", "path")
def test_which_key_is_named(pattern: Body, path: str) -> None:
    value = {"a": 0, "b": {"c": 0}, "d": {"c": 0}, "z": 0}
    assert _check(pattern, value).path == path


def test_a_global_condition_comes_before_plain_keys() -> None:
    assert _check({"a": 1, "<(z)": 1}, {"a": 0, "z": 0}).kind is MismatchKind.SKIP


def test_a_forbidden_key_comes_before_a_global_condition() -> None:
    assert _check({"X(a)": "", "<(z)": 1}, {"a": 0, "z": 0}).kind is MismatchKind.FAIL


def test_conditions_are_joined() -> None:
    text = "conditional anchor mismatch: conditional anchor key doesn't exist in the resource"
    assert _check({"(a)": 1, "(b)": 1}, {}).message == f"{text}; {text}"


def test_an_unmet_condition_hides_later_anchors() -> None:
    assert _check({"(a)": 1, "X(b)": ""}, {"b": 1}).kind is MismatchKind.SKIP


def test_a_condition_met_asks_for_the_rest() -> None:
    pattern = {"(a)": 1, "b": 1}
    assert _check(pattern, {"a": 1, "b": 2}).path == "/b/"
    assert compile_pattern(pattern).check({"a": 1, "b": 1}) is None


def test_a_condition_further_down_gives_way_to_an_anchor_that_holds() -> None:
    pattern = {"=(a)": {"(b)": 1}, "=(c)": 1, "d": 1}
    assert _check(pattern, {"a": {"b": 2}, "d": 2}).path == "/d/"
    assert _check({"=(a)": {"(b)": 1}, "d": 1}, {"a": {"b": 2}, "d": 2}).kind is MismatchKind.SKIP


def test_a_condition_further_down_does_not_hide_a_failure() -> None:
    assert _check({"=(a)": {"(b)": 1}, "X(c)": ""}, {"a": {}, "c": 1}).path == "/c/"


def test_a_key_that_is_nowhere_makes_a_mismatch_an_error() -> None:
    pattern = {"l": [{"(n)": "x", "v": 1}], "w": 1}
    assert _check(pattern, {"l": [{"n": "x", "v": 1}, {}], "w": 2}).kind is MismatchKind.FAIL
    missing = _check({"=(l)": [{"^(n)": []}], "w": 1}, {"l": [{}], "w": 2})
    assert (missing.kind, missing.path) == (MismatchKind.ERROR, "")
    assert _check({"=(l)": [{"X(n)": ""}], "w": 1}, {"l": [{}], "w": 2}).kind is MismatchKind.FAIL


@pytest.mark.parametrize(
    ("value", "name"), [(None, "<nil>"), ("x", "string"), (1, "float64"), ([], "[]interface {}")]
)
def test_another_structure(value: Json, name: str) -> None:
    mismatch = _check({"a": {"b": 1}}, {"a": value})
    assert mismatch.path == "/a/"
    assert mismatch.message == (
        "pattern and resource have different structures. Path: /a/. "
        f"Expected map[string]interface {{}}, found {name}"
    )


def test_an_empty_object_takes_any_object() -> None:
    assert compile_pattern({"a": {}}).check({"a": {"b": 1}}) is None
