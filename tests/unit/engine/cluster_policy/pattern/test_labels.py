"""Wildcards in label keys: one key of the object takes their place."""

import pytest

from chartkit.engine.cluster_policy.pattern import MismatchKind, Pattern, compile_pattern
from chartkit.engine.cluster_policy.pattern.build import Spot
from chartkit.engine.cluster_policy.pattern.match import _compile, variants_of
from chartkit.model import Body, Json
from tests.data import from_table


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
