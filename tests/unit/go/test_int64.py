"""Which numbers of a literal are int64."""

import pytest

from chartkit.go.strconv import Int64, as_floats, mark_literals
from chartkit.model import Json


@pytest.mark.parametrize("number", [0, 1, -1, 1.0, -(2**63), 2**63 - 1])
def test_whole_members_are_marked(number: Json) -> None:
    (marked,) = mark_literals([number])
    assert type(marked) is Int64
    assert marked == number


@pytest.mark.parametrize("member", [1.5, True, "1", None, 2**63, 1e21])
def test_other_members_are_not(member: Json) -> None:
    (marked,) = mark_literals([member])
    assert type(marked) is type(member)


def test_scalars_and_the_original_stay() -> None:
    assert type(mark_literals(5)) is int
    original = {"a": [1, {"b": 2}]}
    marked = mark_literals(original)
    assert type(marked["a"][1]["b"]) is Int64
    assert type(original["a"][0]) is int


def test_as_floats_leaves_marked_numbers() -> None:
    shown = as_floats({"a": [1, Int64(2), True, "3"]})
    assert [type(member) for member in shown["a"]] == [float, Int64, bool, str]
