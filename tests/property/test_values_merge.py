"""The three-way merge keeps every edit that it does not show as a conflict."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.reader import parse_yaml
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.output.values_merge import ConflictError, merge_lines, merge_values

KEYS = st.sampled_from(["alpha", "beta", "gamma", "delta"])
LEAVES = st.one_of(st.integers(0, 3), st.booleans(), st.sampled_from(["one", "two"]))
VALUES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            st.dictionaries(KEYS, inner, max_size=3), st.lists(inner, max_size=2)
        ),
        max_leaves=6,
    ),
    max_size=4,
)


def leaves(values: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(values, dict) or not values:
        return {path: values}
    return {k: v for key, inner in values.items() for k, v in leaves(inner, (*path, key)).items()}


def typed(values: Any) -> str:
    """A text that tells 0 from false, which Python's comparison does not."""
    return json.dumps(values, sort_keys=True)


@given(VALUES, VALUES, VALUES)
def test_a_merge_takes_both_sides_or_is_a_conflict(
    base: dict[str, Any], edited: dict[str, Any], generated: dict[str, Any]
) -> None:
    before, now, new = (dump_yaml(each) for each in (base, edited, generated))
    try:
        merged = parse_yaml(merge_values(before, now, new, "values.yaml")) or {}
    except ConflictError:
        assert len({typed(base), typed(edited), typed(generated)}) == 3
        return
    if typed(base) == typed(generated):
        assert typed(merged) == typed(edited)
    if typed(base) == typed(edited):
        assert typed(merged) == typed(generated)
    for path, value in leaves(merged).items():
        if value != {}:
            assert (path, value) in [*leaves(edited).items(), *leaves(generated).items()]


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=8).map("".join)


@given(LINES, LINES)
def test_lines_changed_on_one_side_are_taken(base: str, changed: str) -> None:
    assert merge_lines(base, changed, base) == changed
    assert merge_lines(base, base, changed) == changed
    assert merge_lines(base, changed, changed) == changed
