"""The examples of `docs/reference/api.md`, by section."""

import doctest
import re
from pathlib import Path
from typing import Final

_PAGE: Final = Path(__file__).parents[1] / "docs/reference/api.md"


def section(title: str) -> str:
    """Return the text below a heading of the page."""
    parts = re.split(r"^## (.+)$", _PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[title]


def run(*titles: str) -> None:
    """Run the examples of sections, each with the names of those before it."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names: dict[str, object] = {}
    for title in titles:
        test = parser.get_doctest(section(title), names, title, str(_PAGE), 0)
        assert runner.run(test, clear_globs=False).failed == 0
        names = test.globs
    assert runner.tries > 0
