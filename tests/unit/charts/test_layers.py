"""What clusters have in common stands in their environment's file; Helm puts it together again."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chartkit.charts.plan import layered, values_file
from chartkit.helm.chart_values import merge

VALUES = st.recursive(
    st.one_of(st.integers(0, 2), st.booleans(), st.lists(st.integers(0, 1), max_size=2)),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
BODIES = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


@given(st.lists(BODIES, min_size=1, max_size=3))
def test_files_come_to_what_each_cluster_says(bodies: list[dict[str, Any]]) -> None:
    values = {f"prd/{at}": body for at, body in enumerate(bodies)}
    files = layered({**values, "qa": bodies[0]})
    assert files["qa"] == bodies[0]
    for name, body in values.items():
        assert merge(files["prd"], files[name]) == body


def test_no_null_is_written() -> None:
    files = layered({"prd/a": {"x": {"y": 1, "z": 2}}, "prd/b": {"x": {"z": 2}}, "prd/c": {}})
    assert files == {
        "prd": {},
        "prd/a": {"x": {"y": 1, "z": 2}},
        "prd/b": {"x": {"z": 2}},
        "prd/c": {},
    }


def test_what_is_the_same_is_written_once() -> None:
    files = layered({"prd/a": {"x": {"y": 1, "z": 2}}, "prd/b": {"x": {"y": 3, "z": 2}, "w": 1}})
    assert files["prd"] == {"x": {"z": 2}}
    assert files["prd/b"] == {"x": {"y": 3}, "w": 1}


def test_names_of_values_files() -> None:
    assert [values_file(name) for name in ("prd", "prd/east")] == [
        "values_prd.yaml",
        "values_prd_east.yaml",
    ]
