from typing import Any

import pytest

from chartkit.model import Resource, same
from chartkit.testing.matching import differs, find_expected


def pod(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **more}


@pytest.mark.parametrize(
    "other",
    [
        pod(),
        pod(spec={"a": None, "b": [], "c": {"d": {}}}),
        pod(metadata={"name": "p", "labels": {"generate.kyverno.io/rule-name": "r"}}),
        pod(metadata={"name": "p", "labels": {"app.kubernetes.io/managed-by": "kyverno"}}),
        pod(metadata="none"),
    ],
)
def test_what_is_no_difference(other: dict[str, Any]) -> None:
    mine = pod() if isinstance(other["metadata"], dict) else pod(metadata={})
    assert differs(mine, other) == ""


def test_labels_that_are_not_all_texts_are_none() -> None:
    odd = pod(metadata={"name": "p", "labels": {"a": "b", "c": True}})
    assert differs(odd, pod()) == ""
    empty = pod(metadata={"name": "p", "labels": {"a": None}})
    assert differs(empty, pod(metadata={"name": "p", "labels": {"a": ""}})) == ""
    assert differs(empty, pod()) != ""


def test_a_difference_is_shown() -> None:
    text = differs(pod(spec={"a": 1}), pod(spec={"a": 2}))
    assert "-  a: 2\n+  a: 1" in text
    assert text.startswith("--- wanted\n+++ got\n")


def test_expected_objects_are_found_by_name_and_kind() -> None:
    one, other = Resource(pod()), Resource(pod(kind="Service"))
    assert find_expected(Resource(pod(spec={})), [other, one]) is one
    assert find_expected(Resource(pod(apiVersion="v2")), [other, one]) is None


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (False, 0, False),
        ([1, 2], [2, 1], False),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1}]}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ("1", 1, False),
    ],
)
def test_equal_as_json(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal
    assert same(right, left) is equal
