"""Texts in Markdown: nothing in them becomes markup."""

import pytest

from chartkit.catalog.markdown import block, cell_code, code, link, prose
from chartkit.safe_text import markdown_rows
from tests.data import from_table


@from_table("text", "shown")
def test_markdown_prose(text: str, shown: str) -> None:
    assert prose(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a*b", "`a*b`"),
        ("a`b", "``a`b``"),
        ("`a``", "``` `a`` ```"),
        ("", ""),
        ("a\nb", "`a b`"),
    ],
)
def test_markdown_code(text: str, shown: str) -> None:
    assert code(text) == shown


def test_code_in_a_cell_keeps_the_table() -> None:
    assert markdown_rows(["A"], [[cell_code("a|b")]]) == "| A |\n| --- |\n| `a\\|b` |\n"


def test_a_block_is_longer_than_what_stands_in_it() -> None:
    assert block("x: 1\n", "yaml") == "```yaml\nx: 1\n```\n"
    assert block("a ```` b") == "`````\na ```` b\n`````\n"


def test_a_link_ends_where_it_ends() -> None:
    assert link("a", "https://x.test/a_(b) c|d#e?f=%20") == (
        "[a](https://x.test/a_%28b%29%20c%7Cd#e?f=%20)"
    )
