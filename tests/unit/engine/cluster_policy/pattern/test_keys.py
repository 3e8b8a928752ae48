"""One anchored key at a time: what each anchor says of a value that is there, wrong or missing."""

import pytest

from chartkit.engine.cluster_policy.pattern import MismatchKind, compile_pattern
from chartkit.model import Body, Json

NO_KEY = "conditional anchor mismatch: conditional anchor key doesn't exist in the resource"
HELD, FAIL, SKIP, ERROR = None, MismatchKind.FAIL, MismatchKind.SKIP, MismatchKind.ERROR


@pytest.mark.parametrize(
    ("key", "right", "wrong", "missing"),
    [
        ("a", HELD, FAIL, FAIL),
        ("(a)", HELD, SKIP, SKIP),
        ("<(a)", HELD, SKIP, HELD),
        ("=(a)", HELD, FAIL, HELD),
        ("X(a)", FAIL, FAIL, HELD),
        ("+(a)", FAIL, FAIL, FAIL),
        ("(a", FAIL, FAIL, FAIL),
    ],
)
def test_keys_anchor(
    key: str,
    right: MismatchKind | None,
    wrong: MismatchKind | None,
    missing: MismatchKind | None,
) -> None:
    pattern = compile_pattern({key: "x"})
    found = [pattern.check(value) for value in ({"a": "x"}, {"a": "y"}, {})]
    assert [one.kind if one else None for one in found] == [right, wrong, missing]


@pytest.mark.parametrize(
    ("pattern", "value", "path", "message"),
    [
        ({"(a)": "x"}, {}, "", NO_KEY),
        (
            {"(a)": "x"},
            {"a": "y"},
            "",
            "conditional anchor mismatch: resource value 'y' does not match 'x' at path /a/",
        ),
        (
            {"<(a)": "x"},
            {"a": "y"},
            "",
            "global anchor mismatch: resource value 'y' does not match 'x' at path /a/",
        ),
        (
            {"X(a)": "x"},
            {"a": None},
            "/a/",
            "negation anchor matched in resource: /a/ is not allowed",
        ),
        ({"a": "*"}, {"a": None}, "/", "//a not found"),
        ({"a": {"b": "*"}}, {"a": {}}, "/a/", "/a//b not found"),
        (
            {"^(a)": [{"b": 1}]},
            {"a": [{"b": 2}]},
            "/a/",
            "existence anchor validation failed at path /a/",
        ),
        ({"^(a)": [{"b": 1}]}, {"a": []}, "/a/", "existence anchor validation failed at path /a/"),
        (
            {"^(a)": [{"b": 1}]},
            {"a": "x"},
            "/a/",
            "invalid resource type string: "
            "Existence ^ () anchor can be used only on list/array type resource",
        ),
        (
            {"^(a)": {"b": 1}},
            {"a": []},
            "/a/",
            "invalid pattern type map[string]interface {}: "
            "Pattern has to be of list to compare against resource",
        ),
        (
            {"^(a)": ["b"]},
            {"a": []},
            "/a/",
            "invalid pattern type []interface {}: "
            "Pattern has to be of type map to compare against items in resource",
        ),
    ],
)
def test_keys_texts(pattern: Body, value: Body, path: str, message: str) -> None:
    mismatch = compile_pattern(pattern).check(value)
    assert mismatch is not None
    assert (mismatch.path, mismatch.message) == (path, message)


@pytest.mark.parametrize(
    ("value", "held"),
    [("", True), (0, True), ({}, True), ([], True), (False, True), (None, False)],
)
def test_a_star_asks_for_any_value(value: Json, held: bool) -> None:
    assert (compile_pattern({"a": "*"}).check({"a": value}) is None) is held


def test_existence_asks_for_each_of_its_elements() -> None:
    pattern = compile_pattern({"^(a)": [{"n": "x"}, {"n": "y"}]})
    assert pattern.check({"a": [{"n": "y"}, {"n": "z"}, {"n": "x"}]}) is None
    assert pattern.check({}) is None
    assert pattern.check({"a": [{"n": "x"}]}) is not None
