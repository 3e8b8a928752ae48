"""Keys of patterns: anchors, wildcards in the keys of labels, and the order of several."""

import pytest

from chartkit.engine.cluster_policy.pattern.build import (
    Anchor,
    AnchorKind,
    Mismatch,
    MismatchKind,
    Spot,
    has_nested_anchors,
    parse_anchor,
)
from chartkit.engine.cluster_policy.pattern.match import (
    Pattern,
    _compile,
    compile_pattern,
    variants_of,
)
from chartkit.model import Body, Json
from tests.data import from_table


@pytest.mark.parametrize(
    ("key", "kind", "name"),
    [
        ("(a)", AnchorKind.CONDITION, "a"),
        ("=(a)", AnchorKind.EQUALITY, "a"),
        ("^(a)", AnchorKind.EXISTENCE, "a"),
        ("X(a)", AnchorKind.NEGATION, "a"),
        ("<(a)", AnchorKind.GLOBAL, "a"),
        ("+(a)", AnchorKind.ADDITION, "a"),
        ("=((a))", AnchorKind.EQUALITY, "(a)"),
        (" \t(a)\u3000", AnchorKind.CONDITION, "a"),
        ("( a )", AnchorKind.CONDITION, " a "),
        ("(a)(b)", AnchorKind.CONDITION, "a)(b"),
    ],
)
def test_kinds_of_anchors(key: str, kind: AnchorKind, name: str) -> None:
    assert parse_anchor(key) == Anchor(kind, name)


@pytest.mark.parametrize(
    "key", ["a", "()", "=()", "(a", "a)", "Z(a)", "x(a)", "(a\nb)", "==(a)", ""]
)
def test_plain_key(key: str) -> None:
    assert parse_anchor(key) is None


def test_anchors_text() -> None:
    assert str(Anchor(AnchorKind.EQUALITY, "a")) == "=(a)"


@from_table("pattern", "found")
def test_anchors_nested(pattern: Json, found: bool) -> None:
    assert has_nested_anchors(pattern) is found


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
    key: str, right: MismatchKind | None, wrong: MismatchKind | None, missing: MismatchKind | None
) -> None:
    pattern = compile_pattern({key: "x"})
    found = [pattern.check(value) for value in ({"a": "x"}, {"a": "y"}, {})]
    assert [one.kind if one else None for one in found] == [right, wrong, missing]


@from_table("pattern", "value", "path", "message")
def test_keys_texts(pattern: Body, value: Body, path: str, message: str) -> None:
    mismatch = compile_pattern(pattern).check(value)
    assert mismatch is not None
    assert (mismatch.path, mismatch.message) == (path, message)


@pytest.mark.parametrize(
    ("value", "held"), [("", True), (0, True), ({}, True), ([], True), (False, True), (None, False)]
)
def test_a_star_asks_for_any_value(value: Json, held: bool) -> None:
    assert (compile_pattern({"a": "*"}).check({"a": value}) is None) is held


def test_existence_asks_for_each_of_its_elements() -> None:
    pattern = compile_pattern({"^(a)": [{"n": "x"}, {"n": "y"}]})
    assert pattern.check({"a": [{"n": "y"}, {"n": "z"}, {"n": "x"}]}) is None
    assert pattern.check({}) is None
    assert pattern.check({"a": [{"n": "x"}]}) is not None


def _labels(labels: Json, **beside: Json) -> Body:
    return {"metadata": {"labels": labels, **beside}}


def _path(pattern: Pattern, value: Body) -> str | None:
    """The path of the mismatch; None for none."""
    mismatch = pattern.check(value)
    return mismatch.path if mismatch else None


@pytest.mark.parametrize(
    "pattern",
    [
        {},
        {"spec": {"a*": 1}},
        _labels({"app": "x"}),
        {"metadata": "x"},
        _labels("a*"),
        _labels(None),
    ],
)
def test_nothing_to_replace(pattern: Body) -> None:
    assert variants_of(pattern, Spot(_compile)) is None


@from_table("pattern", "labels", "path")
def test_labels_replaced(pattern: Body, labels: Body, path: str | None) -> None:
    assert _path(compile_pattern(_labels(pattern)), _labels(labels)) == path


def test_only_where_the_object_has_labels() -> None:
    pattern = compile_pattern(_labels({"a": 1}))
    assert _path(pattern, {"metadata": {"name": "x"}}) == "/metadata/labels/"


def test_a_condition_on_a_wildcard_key() -> None:
    pattern = compile_pattern(_labels({"(a*)": "v", "b": "v"}))
    unmet = pattern.check(_labels({"ab": "w"}))
    assert unmet is not None
    assert unmet.kind is MismatchKind.SKIP
    assert pattern.check(_labels({"ab": "v", "b": "v"})) is None


def test_what_was_replaced_stays_so_for_the_rest_of_a_list() -> None:
    pattern = compile_pattern({"items": [_labels({"a*": "v"})]})
    assert pattern.check({"items": [_labels({"ax": "v"}), _labels({"ax": "v"})]}) is None
    assert (
        _path(pattern, {"items": [_labels({"ax": "v"}), _labels({"ay": "v"})]})
        == "/items/1/metadata/labels/ax/"
    )
    assert pattern.check({"items": [_labels({"ay": "v"})]}) is None


def test_anchored_metadata_and_annotations() -> None:
    pattern = compile_pattern({"=(metadata)": {"=(annotations)": {"=(x.io/*)": "ok | fine"}}})
    assert pattern.check({}) is None
    assert pattern.check({"metadata": {"annotations": {"x.io/a": "fine"}}}) is None
    assert (
        _path(pattern, {"metadata": {"annotations": {"x.io/a": "bad"}}})
        == "/metadata/annotations/x.io/a/"
    )


def test_many_sets_of_labels() -> None:
    pattern = compile_pattern(_labels({"a*": "v"}))
    for index in range(1000):
        assert pattern.check(_labels({f"a{index}": "v"})) is None


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
