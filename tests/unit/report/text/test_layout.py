"""chartkit.report.text.layout: lines and tables that fit a terminal."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.report.text.layout import columns, fold, table
from tests.data import tables

_WORDS = st.text("abcdefgh.:/", min_size=1, max_size=12)
_LINES = st.builds(
    lambda indent, words: " " * indent + " ".join(words),
    st.integers(0, 8),
    st.lists(_WORDS, max_size=30),
)
ROWS = [
    ("POLICY", "SEVERITY", "COUNT", "TITLE"),
    ("baseline/disallow-host-path", "medium", "7", "Disallow volumes of the node's own folders"),
    ("other/a-policy", "low", "112", "Short"),
]


@given(st.lists(_LINES, max_size=4), st.integers(30, 120))
def test_folded_lines_fit_and_keep_their_words(lines: list[str], width: int) -> None:
    text = "\n".join(lines)
    folded = fold(text, width)
    assert all(len(line) <= width for line in folded.split("\n"))
    assert folded.split() == text.split()
    assert all(line in folded.split("\n") for line in lines if len(line) <= width)


def test_a_fold_goes_on_below_its_start() -> None:
    assert fold("  one two three", 10) == "  one two\n      three"
    assert fold("one two", None) == "one two"


def test_a_long_word_stays_whole() -> None:
    path = "folder/" * 20
    assert fold(f"in {path}: no", 40).split("\n") == ["in", f"    {path}:", "    no"]


def test_colours_and_wide_characters_count_as_shown() -> None:
    assert columns(click.style("four", fg="red")) == 4
    assert columns("漢字") == 4
    assert columns("e\u0301") == 1
    assert fold(" ".join(["漢字"] * 4), 10) == "漢字 漢字\n    漢字\n    漢字"


def test_a_table_has_columns_and_numbers_to_the_right() -> None:
    assert table(ROWS) == [
        "POLICY                       SEVERITY  COUNT  TITLE",
        "baseline/disallow-host-path  medium        7  Disallow volumes of the node's own folders",
        "other/a-policy               low         112  Short",
    ]


def test_the_last_cell_of_a_table_is_folded_in_its_column() -> None:
    assert table(ROWS, 72)[1:3] == [
        "baseline/disallow-host-path  medium        7  Disallow volumes of the",
        "                                              node's own folders",
    ]


def test_cells_that_do_not_fit_go_below() -> None:
    assert table(ROWS, 60) == tables(__file__)["cells_that_do_not_fit_go_below"]
    assert table(ROWS, 32)[2] == "baseline/disallow-host-path"


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_tables_fit(width: int) -> None:
    rows = [*ROWS, ("p" * 38, "critical", "1", "word " * 40), ("q", "low", "2", "a\nb")]
    lines = table(rows, width)
    assert max(map(len, lines)) <= width
    assert " ".join(lines).split().count("word") == 40


def test_a_line_break_starts_a_line_in_the_last_column() -> None:
    assert table([("A", "B"), ("x", "one\n→ two")]) == ["A  B", "x  one", "   → two"]
