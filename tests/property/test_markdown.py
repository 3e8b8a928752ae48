"""Random texts in Markdown, read by a parser of it: they are shown as they are, and end nowhere."""

import html
import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chartkit.catalog.entries import one_line
from chartkit.catalog.markdown import cell_code, code, prose
from chartkit.safe_text import markdown_rows
from tests.draws import draws

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_TEXTS = (
    st.text(alphabet="ab1 .*_`[]()<>|~$&#+-=!\\:/\"'{}@^%é", min_size=1, max_size=16)
    .map(one_line)
    .filter(bool)
)
_TAG = re.compile(r"</?[a-z]+[^>]*>")
_STRUCTURE = re.compile(r"</?(?:p|code|table|thead|tbody|tr|th|td)>")


def _shown(rendered: str) -> str:
    """What a reader sees; fails where there is other markup than was asked for."""
    assert _TAG.sub("", rendered) == _STRUCTURE.sub("", rendered), rendered
    return html.unescape(_TAG.sub("", rendered)).strip()


@draws(300)
@given(_TEXTS)
def test_a_paragraph(text: str) -> None:
    rendered = _PARSER.render(f"{prose(text)}\n")
    assert rendered.startswith("<p>")
    assert "<code>" not in rendered
    assert _shown(rendered) == text


@draws(300)
@given(_TEXTS)
def test_code_in_a_line(text: str) -> None:
    assert _shown(_PARSER.render(f"see {code(text)} there\n")) == f"see {text} there"


@draws(300)
@given(_TEXTS, _TEXTS)
def test_cells_of_a_table(one: str, other: str) -> None:
    rendered = _PARSER.render(markdown_rows(["A", "B"], [[prose(one), cell_code(other)]]))
    cells = re.findall(r"<td>(.*?)</td>", rendered)
    assert [_shown(cell) for cell in cells] == [one, other]
