"""An edit of a YAML text changes what it names, and leaves everything else byte for byte."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.reader import parse_yaml
from chartkit.errors import InputError
from chartkit.output.yaml_edit import rewritten
from tests.data import from_table

FILE = Path("a.yaml")
TEXTS = st.sampled_from(
    ["", "a", "true", "1", "a: b", "# no", "- x", "two words", "é", "{", "a\nb\n"]
)
VALUES: Any = st.recursive(
    TEXTS | st.integers(-5, 5) | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(bool), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = ("first", "second", "third")
BLOCKS = {
    "first": "# One.\nfirst:   # key\n    a:  1   # a\n\n  # out\n    # inner\n    b: [x, y]\n",
    "second": "second: {k:  v,   l: [1]}   # flow\n",
    "third": "third:\n- one\n-   two: 2  # two\n    # deep\n    three:   |\n      text\n\n# End.\n",
}


@given(st.permutations(NAMES), st.sampled_from(NAMES), VALUES)
def test_other_keys_stay(order: list[str], name: str, value: Any) -> None:
    text = "".join(BLOCKS[each] for each in order)
    wanted = {**parse_yaml(text), name: value}
    found = rewritten(text, wanted, FILE, "by hand")
    assert parse_yaml(found) == wanted
    for each in set(order) - {name}:
        assert BLOCKS[each].rstrip("\n") in found
    del wanted[name]
    gone = rewritten(found, wanted, FILE, "by hand")
    assert parse_yaml(gone) == wanted
    for each in set(order) - {name}:
        assert BLOCKS[each].rstrip("\n") in gone


@given(VALUES, VALUES)
def test_any_value_becomes_any_other(value: Any, wanted: Any) -> None:
    for text in ("key: 1\n", "{key: 1}\n", "- {}\n"[2:]):
        before = rewritten(text, {"key": value, "b": 1}, FILE, "")
        assert parse_yaml(before) == {"key": value, "b": 1}
        after = rewritten(before, {"b": 1, "key": wanted}, FILE, "")
        assert parse_yaml(after) == {"key": wanted, "b": 1}
        assert rewritten(after, parse_yaml(after), FILE, "") == after


@from_table("text", "wanted", "after")
def test_edits(text: str, wanted: dict[str, Any], after: str) -> None:
    assert rewritten(text, wanted, FILE, "") == after


@pytest.mark.parametrize("text", ["a: &x 1\nb: *x\n", "<<: {a: 1}\n", "a: 1\n---\nb: 1\n", "- 1\n"])
def test_a_text_that_cannot_be_edited(text: str) -> None:
    with pytest.raises(InputError, match="cannot be edited"):
        rewritten(text, {"a": 2, "b": 1}, FILE, "by hand")
