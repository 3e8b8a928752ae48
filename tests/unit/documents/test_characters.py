"""documents.characters: the source's column of a character of a text, in every style of YAML."""

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.parsed_places import offset_in_source
from chartkit.documents.reader import read_text
from chartkit.model import Location
from tests.data import from_table


@from_table("text", "needle", "place")
def test_characters_of_texts_have_their_place(text: str, needle: str, place: str) -> None:
    [document] = read_text(text, "f")
    value: Any = document.body
    step: str | int
    pointer = ""
    while not isinstance(value, str):
        step, value = ("a", value["a"]) if isinstance(value, dict) else (len(value) - 1, value[-1])
        pointer += f"/{step}"
    found = document.location.character(pointer, value.index(needle))
    assert str(found) == f"f:{place}"
    assert found.path == pointer


def test_what_is_no_text_has_the_place_of_its_key() -> None:
    [document] = read_text("a:\n  b: {c: 1}\n", "f")
    assert str(document.location.character("/a/b", 3)) == "f:2:3"
    assert str(document.location.character("/a/x", 3)) == "f:1:1"
    assert Location("f", 3).character("/a", 1) == Location("f", 3)


@given(
    st.text("ab \n\t'\"\\:#é日", min_size=1, max_size=20),
    st.sampled_from(["'", '"', "|", ">", None]),
    st.integers(1, 80),
)
def test_every_letter_is_found_in_every_style(text: str, style: str | None, width: int) -> None:
    source = yaml.dump({"k": text}, default_style=style, width=width, allow_unicode=True)
    document: Any = yaml.compose(source, Loader=yaml.CSafeLoader)
    node = document.value[0][1]
    raw = source[node.start_mark.index : node.end_mark.index]
    for offset, letter in enumerate(text):
        found = offset_in_source(raw, node.style, node.value, offset)
        if letter.isspace() or found is None:
            continue
        assert raw[found] in (letter, "\\")


def test_texts_that_differ_have_no_offset() -> None:
    assert offset_in_source("abc", None, "abd", 1) is None
    assert offset_in_source("''", "'", "", 0) is None
