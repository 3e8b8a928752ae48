"""YAML that is written is read back as it was, and differences are shown in its order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.reader import parse_yaml
from chartkit.documents.yaml_dump import dump_documents, dump_text, dump_yaml, in_order, yaml_diff

TEXTS = ["y", "No", "08", "1e3", "0o17", "1_000", "<<", "~", "", "2020-01-01", "a: b", "# x", "-"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]))
    | st.sampled_from(TEXTS),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abny08<", max_size=3), inner)
    ),
)


@pytest.mark.parametrize("text", TEXTS)
def test_text_stays_text(text: str) -> None:
    assert parse_yaml(dump_yaml({"v": text, text: 1})) == {"v": text, text: 1}


@given(JSON)
def test_everything_is_read_back_as_it_was(value: Any) -> None:
    assert parse_yaml(dump_yaml({"v": value})) == {"v": value}


CHARACTERS = st.sampled_from("ab01 \n:#-?,[]{}&*!|>'\"%@`.~y=<_+\t\x07\x85é\u2028\ufeff\uffff😀")


@given(st.text(CHARACTERS | st.characters(exclude_categories=["Cs"]), max_size=8), st.booleans())
def test_text_alone_is_written_as_within_a_document(text: str, nested: bool) -> None:
    document: Any = {"k": text, "z": 1}
    whole = dump_yaml({"o": document} if nested else document).removesuffix("...\n")
    edge, start = ("  ", "o:\n") if nested else ("", "")
    assert whole == f"{start}{edge}k: {dump_text(text, len(edge))}\n{edge}z: 1\n"


def test_text_of_several_lines_is_a_block() -> None:
    assert dump_yaml({"a": "x\ny\n"}) == "a: |\n  x\n  y\n"


def test_keys_keep_their_order_and_shared_values_are_written_out() -> None:
    shared = {"z": 1, "a": 2}
    assert (
        dump_documents([{"p": shared, "b": shared}]) == "p:\n  z: 1\n  a: 2\nb:\n  z: 1\n  a: 2\n"
    )


def test_the_order_of_keys_is_no_difference() -> None:
    assert (
        yaml_diff({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}, "x", "y") == []
    )


def test_lists_are_compared_by_name() -> None:
    before = {"l": [{"name": "one", "x": 1, "z": 2}]}
    after = {"l": [{"name": "new"}, {"z": 2, "x": 1, "name": "one"}]}
    assert yaml_diff(before, after, "x", "y")[3:] == [
        " l:",
        "+- name: new",
        " - name: one",
        "   x: 1",
        "   z: 2",
    ]


def test_new_keys_come_last_and_nothing_is_lost() -> None:
    value = {"z": [1, {"k": 1}], "a": None, "m": {"q": 1}}
    ordered = in_order(value, {"m": 1, "a": {"x": 1}})
    assert list(ordered) == ["m", "a", "z"]
    assert ordered == value


def test_values_of_other_kinds_stay() -> None:
    assert in_order([1, 2, 3], {"a": 1}) == [1, 2, 3]
    assert in_order([[{"b": 1, "a": 1}]], [[{"a": 1, "b": 1}], 2, 3]) == [[{"a": 1, "b": 1}]]
