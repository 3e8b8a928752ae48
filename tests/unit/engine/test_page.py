"""`docs/reference/engine.md` against the engine: its example, and the names of its door."""

import doctest
import re
from pathlib import Path

import chartkit.engine

PAGE = Path(__file__).parents[3] / "docs/reference/engine.md"


def test_the_example_prints_what_the_page_shows() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried) == (0, 6)


def test_every_name_of_the_door_is_on_the_page() -> None:
    rows = re.findall(r"^\| (.+?) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    named = re.findall(r"\b\w+\b", " ".join(rows))
    assert chartkit.engine.MODULES.keys() - named == {"NO_ATTACHMENTS", "RunnablePolicy"}
