"""Objects whose reads are recorded, and what came of the reads."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.reads import Reads, ReadTree, RecordedObject
from chartkit.model import Body, Json

_KEYS = st.sampled_from(("a", "b", "c"))
_SCALARS = st.none() | st.booleans() | st.integers(0, 1) | st.sampled_from((1.0, "", "x"))
_VALUES = st.recursive(
    _SCALARS, lambda one: st.lists(one, max_size=2) | st.dictionaries(_KEYS, one, max_size=3)
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=3)
_USES: tuple[Callable[[Any], Any], ...] = (
    json.dumps,
    lambda value: json.dumps(value, indent=1),
    repr,
    bool,
    len,
    list,
    dict,
    copy.copy,
    copy.deepcopy,
    lambda value: pickle.loads(pickle.dumps(value)),  # noqa: S301
    lambda value: {**value},
    lambda value: {"d": 1, "b": 2} | value,
    lambda value: value | {"d": 1},
    lambda value: sorted(value.items(), key=repr),
    lambda value: list(value.values()),
    lambda value: [key in value for key in ("a", "d")],
    lambda value: [value.get(key, 7) for key in ("a", 1)],
    lambda value: value["a"],
    lambda value: value == value.copy() and value.copy() == value,
    lambda value: value.__class__ is dict and isinstance(value, dict),
)


def _answered(use: Callable[[Any], Any], value: Json) -> str:
    try:
        return repr(use(value))
    except KeyError as error:
        return f"no {error}"


@pytest.mark.parametrize("use", _USES)
@given(first=st.none() | _KEYS, value=_OBJECTS)
def test_a_recorded_object_is_as_a_plain_one(
    use: Callable[[Any], Any], first: str | None, value: Body
) -> None:
    recorded = Reads(value).roots[0]
    if first is not None:
        recorded.get(first)
    assert _answered(use, recorded) == _answered(use, value)


def test_only_what_is_read_is_recorded() -> None:
    reads = Reads({"a": {"b": 1, "c": 2}, "d": [{"e": 3}, "x"], "f": {}})
    root = reads.roots[0]
    assert root["a"]["b"] == 1
    assert root["a"].get("z") is None
    assert [one for one in root["d"] if isinstance(one, str)] == ["x"]
    assert reads.course == ((0, None), (1, "a"), (2, "b"), (2, "z"), (1, "d"))


def test_scalars_may_be_converted() -> None:
    reads = Reads({"a": [1, {"b": 2}]})
    assert json.dumps(reads.roots[0].converted(lambda value: value + 1)) == '{"a": [2, {"b": 3}]}'
    assert json.dumps(reads.roots[0]) == '{"a": [1, {"b": 2}]}'


def _walked(value: Json, path: list[str]) -> str:
    """Return what a small program comes to: it goes down a path as far as there is one."""
    for index, key in enumerate(path):
        if not isinstance(value, dict):
            return f"{index} {value!r}"
        if key not in value:
            return f"{index} {key if value else 'empty'}"
        value = value[key]
    return json.dumps(value)


@given(paths=st.lists(st.lists(_KEYS, max_size=3), max_size=4), objects=st.lists(_OBJECTS))
def test_a_tree_finds_what_an_evaluation_comes_to(
    paths: list[list[str]], objects: list[Body]
) -> None:
    def evaluated(value: Json) -> str:
        text = ""
        for path in paths:
            text += _walked(value, path)
            if "x" in text:
                break
        return text

    tree: ReadTree[str] = ReadTree()
    for value in objects:
        found = tree.find(value)
        if found is None:
            reads = Reads(value)
            made = evaluated(reads.roots[0])
            assert made == evaluated(value)
            tree.keep(reads, made)
            found = tree.find(value)
        assert found == evaluated(value)


def test_the_reads_of_several_evaluations_are_joined() -> None:
    value = {"a": {"b": {"c": 1}}, "d": [{"e": 2}]}
    first, second = Reads(value), Reads(value)
    assert first.roots[0]["d"][0]["e"] + first.roots[0]["a"]["b"]["c"] == 3
    assert second.roots[0]["a"]["b"]["c"] == 1
    joined = Reads.joined([first.course, second.course], value)
    assert joined.answers == first.answers


def test_a_recorded_object_is_told_apart_by_its_own_type_alone() -> None:
    assert isinstance(Reads({"a": 1}).roots[0], RecordedObject)


def test_the_paths_of_reads_lead_through_lists_and_objects() -> None:
    reads = Reads({"a": [{"b": {"c": 1}}, {"b": {}}], "x": 1}, {"d": {"e": 2}})
    first, second = reads.roots
    assert [member["b"].get("c") for member in first["a"]] == [1, None]
    assert dict(second["d"].items()) == {"e": 2}
    read = set(reads.paths()) - {(None,)}
    below = {("0", "a"), ("0", "a", None, "b"), ("0", "a", None, "b", "c")}
    assert read == below | {("1", "d"), ("1", "d", None)}
