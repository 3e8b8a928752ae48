"""Patches from one object to another, applied by the engine's own reader of RFC 6902."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.addons.serve.admission.judge import patch
from chartkit.model import same
from tests.addons.serve.admission.patching import patched

_SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(("", "a", "a/b", "~"))
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(("a", "b", "a/b", "m~n", "")), inner, max_size=4)
    ),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from(("a", "b", "c/d", "e~f")), _VALUES, max_size=4)


@given(_OBJECTS, _OBJECTS)
def test_a_patch_makes_the_other_object(before: dict[str, Any], after: dict[str, Any]) -> None:
    operations = list(patch(before, after))
    assert same(patched(before, operations), after)
    assert bool(operations) is not same(before, after)


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ([1, 2], [0, 1, 2], [{"op": "add", "path": "/x/0", "value": 0}]),
        ([1, 2, 3], [1, 3], [{"op": "remove", "path": "/x/1"}]),
        ([{"a": 1}], [{"a": 2}], [{"op": "replace", "path": "/x/0/a", "value": 2}]),
        (1, True, [{"op": "replace", "path": "/x", "value": True}]),
    ],
)
def test_a_patch_is_small(before: Any, after: Any, operations: list[Any]) -> None:
    assert list(patch({"x": before}, {"x": after})) == operations
