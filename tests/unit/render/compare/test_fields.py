import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.model import path_text
from chartkit.render.compare.fields import ABSENT, FieldChange, differences

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["name", "key", "x", "y"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def said(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    return [(each.name, each.before, each.after) for each in differences(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": None}, {}, [("a", None, ABSENT)]),
        ({}, {"a": None}, [("a", ABSENT, None)]),
        ({"a": {"b.c/d": 1}}, {"a": {"b.c/d": 2}}, [("a[b.c/d]", 1, 2)]),
        ([1, 2, 3], [1, 3], [("[1]", 2, ABSENT)]),
        ([1, 3], [1, 2, 3], [("[1]", ABSENT, 2)]),
        ([{"x": 1}, {"x": 2}], [{"x": 1}, {"x": 3}], [("[1].x", 2, 3)]),
        (
            [{"name": "a", "v": 1}, {"name": "b"}],
            [{"name": "c"}, {"name": "a", "v": 2}],
            [(".a.v", 1, 2), (".b", {"name": "b"}, ABSENT), (".c", ABSENT, {"name": "c"})],
        ),
        (
            [{"name": "a"}, {"name": "b"}],
            [{"name": "b"}, {"name": "a"}],
            [("", ["a", "b"], ["b", "a"])],
        ),
        ([{"name": "a"}, {"name": "a"}], [{"name": "a"}], [("[1]", {"name": "a"}, ABSENT)]),
    ],
)
def test_fields_differences(before: Any, after: Any, expected: list[tuple[str, Any, Any]]) -> None:
    found = [(name.removeprefix("."), old, new) for name, old, new in said(before, after)]
    assert found == [(name.removeprefix("."), old, new) for name, old, new in expected]


@given(VALUES, VALUES)
def test_there_is_a_difference_where_two_values_differ(before: Any, after: Any) -> None:
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert (not list(differences(before, after))) == same


@given(VALUES)
def test_none_where_they_are_equal(value: Any) -> None:
    assert list(differences(value, json.loads(json.dumps(value)))) == []


def test_path_text() -> None:
    assert path_text(("spec", "rules", "check", 0, "a.b/c")) == "spec.rules.check[0][a.b/c]"
    assert FieldChange(("spec", "replicas"), 1, 2).name == "spec.replicas"
