"""Trees: what is read is written as it was, and what is moved keeps its comments."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.reader import parse_yaml, read_text
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.model import Json
from chartkit.output.yaml_edit import text_of
from chartkit.output.yaml_tree import Block, Entry, Leaf, Tree, write_tree
from chartkit.output.yaml_tree_reader import read_tree
from tests.data import from_table
from tests.draws import draws

ROOT = Path(__file__).parents[3]
OLD = sorted((ROOT / "tests/addons/migrate/values/old").glob("*.yaml"))
FILES = [*OLD, ROOT / "charts/kyverno/values.yaml"]

AS_WRITTEN = [
    "a: 1\n",
    "# head\n\na: 1\n",
    "---\na: 1\n# foot\n",
    "a:  # of a\n  b: 1  # of b\n  # below b\n\n  # above c\n  c: [1, 2]\n# above d\nd: {e: 1}\n",
    "a:\n- b: 1\n  c: 2\n# above e\ne: 1\n",
    "a:\n    - b:\n        - 1\n    -   c: 1\n        d: 2\n",
    "a: |\n  # no comment\n  text\n\nb: >-\n  one\n  two\n",
    'a: "one\n  two"\nb: plain\n  text\n',
    "a:\n  # nothing yet\nb:\n",
    "'a b': 1\n\"c\": 2\n",
    "a:\n  - - 1\n    - 2\n  - 3\n",
    "a: {\n  b: 1,  # of b\n  c: 2\n}\nd: 1\n",
    "a: &x\n  b: 1\nc: &y\n- 1\n- 2\n",
    "a: |\n  spaces at the end  \n   \n  more\nb: |+\n  kept\n\n# of c\nc: 1\n",
    "a:   \n  b: 1\n  \n# of c   \nc: 1\n",
]


@pytest.mark.parametrize("text", AS_WRITTEN)
def test_as_written(text: str) -> None:
    tree = read(text)
    assert write_tree(tree) == text
    assert tree.data() == parse_yaml(text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_files_as_written(file: Path) -> None:
    text = file.read_text("utf-8")
    assert write_tree(read(text)) == text


@pytest.mark.parametrize("text", ["a: |\n  x\n\n  ", "a:\n- |\n  x\n    ", "b: |+\n  x\n   "])
def test_a_last_line_of_spaces_alone(text: str) -> None:
    tree = read(text)
    assert text_of(tree, text) == text
    assert tree.data() == parse_yaml(text)


def read(text: str) -> Tree:
    (document,) = read_text(text, "old.yaml")
    return read_tree(document)


def test_move_with_comments() -> None:
    tree = read(
        "# head\n\n# of a\na:\n  # of b\n  b: 1  # one\n  # below b\n"
        "# of c\nc:\n    d:\n        - x  # item\n"
    )
    assert tree.put(("new", "b"), tree.take(("a", "b")))
    assert tree.put(("new", "d"), tree.take(("c", "d")))
    assert write_tree(tree) == (
        "# head\n\nnew:\n  # of a\n  # of b\n  b: 1  # one\n  # below b\n"
        "  # of c\n  d:\n      - x  # item\n"
    )


def test_drop_leaves_other_comments() -> None:
    tree = read("a: 1\n\n# A section.\n\n# of b\nb: 2\nc: 3\n")
    tree.drop(("b",))
    assert write_tree(tree) == "a: 1\n\n# A section.\n\nc: 3\n"


def test_drop_the_last_leaves_other_comments() -> None:
    tree = read(
        "a:\n  b: 1\n\n  # A section.\n\n  # of c\n  c: 2\nd: 3\n\n# The end.\n\n# of e\ne: 4\n"
    )
    tree.drop(("a", "c"))
    tree.drop(("e",))
    assert write_tree(tree) == "a:\n  b: 1\n\n  # A section.\n\nd: 3\n\n# The end.\n"


def test_take_of_equal_entries() -> None:
    tree = read("a:\n  x: 1\nb:\n  x: 1\n  z: 1\n")
    tree.take(("b", "x"))
    tree.take(("a", "x"))
    assert tree.data() == {"b": {"z": 1}}


def test_migrate_tree_deep() -> None:
    text = "".join(f"{'  ' * depth}a{depth}:\n" for depth in range(199)) + "  " * 199 + "b: 1\n"
    tree = read(text)
    assert write_tree(tree) == text
    flow = "a: " + "{a: " * 190 + "1" + "}" * 190 + "\n"
    tree = read(flow)
    tree.take(("a", "a", "a"))
    assert tree.data() == {}


def test_put_where_something_is() -> None:
    tree = read("a:\n  b: 1\n")
    assert not tree.put(("a", "b"), Entry("", Leaf(2)))
    assert not tree.put(("a", "b", "c"), Entry("", Leaf(2)))
    assert tree.data() == {"a": {"b": 1}}


def test_in_braces_is_opened_where_it_must() -> None:
    tree = read("a: {b: 1, c: 2}  # both\nd: {e: 1}\n")
    assert tree.put(("x",), tree.take(("a", "b")))
    assert write_tree(tree) == "a:  # both\n  c: 2\nd: {e: 1}\nx: 1\n"


def test_aliases_are_written_out() -> None:
    tree = read("a: &x\n  b: 1\nc: *x\nd:\n  <<: *x\n  e: 2\n")
    tree.take(("a",))
    assert parse_yaml(write_tree(tree)) == {"c": {"b": 1}, "d": {"b": 1, "e": 2}}


def test_aliases_of_items_are_written_out() -> None:
    text = "a: &x 1\nb:\n  - *x\n  # two\n  - &y\n    c: 1\n  - *y\n  # below\nd:\n- - *y\n- 2\n"
    tree = read(text)
    assert parse_yaml(write_tree(tree)) == parse_yaml(text)
    assert "  # below\nd:\n" in write_tree(tree)


def test_keys_that_are_no_text() -> None:
    text = "a:\n  y: 1\n  8080: 2\n  # of 1.0\n  1.0: 3\n"
    tree = read(text)
    assert write_tree(tree) == text
    assert tree.data() == {"a": {"true": 1, "8080": 2, "1": 3}}
    with pytest.raises(InputError, match="'y' is not a string") as refused:
        read("a: 1\ny: 2\n")
    assert str(refused.value).startswith("old.yaml:2:1: ")


@from_table("text", "message")
def test_keys_that_cannot_be_moved(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read(text)
    below = "a:\n" + "".join(f"  {line}\n" for line in text.splitlines()) + "b: 1\n"
    assert parse_yaml(write_tree(read(below))) == parse_yaml(below)


def test_migrate_tree_json() -> None:
    tree = read('{"a": {"b": [1, {"c": null}]}}')
    assert parse_yaml(write_tree(tree)) == {"a": {"b": [1, {"c": None}]}}


def test_nothing_left() -> None:
    tree = read("# head\n\na: 1\n")
    tree.take(("a",))
    assert write_tree(tree) == "# head\n\n{}\n"


names = st.text("abcdefghij-_ #:'\"éß{}[],&*!|>%@`", min_size=1, max_size=6)
scalars = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=12) | names
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.slow
@draws(150)
@given(st.dictionaries(names, values, min_size=1, max_size=4))
def test_random_values(body: dict[str, Json]) -> None:
    text = dump_yaml(body)
    tree = read(text)
    assert parse_yaml(write_tree(tree)) == parse_yaml(text)


@draws(150)
@given(st.dictionaries(names, values, min_size=1, max_size=4))
def test_random_values_below_another_key(body: dict[str, Json]) -> None:
    text = dump_yaml(body)
    tree = read(text)
    before = tree.data()
    for key in list(before):
        assert tree.put(("new place", "deep", key), tree.take((key,)))
    assert parse_yaml(write_tree(tree)) == {"new place": {"deep": before}}
    assert isinstance(tree.root, Block)
