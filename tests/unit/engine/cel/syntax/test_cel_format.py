"""Expressions as texts: where lines break, which quotes they have, and where comments go."""

import math

from chartkit.engine.cel import ENVIRONMENTS
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel.syntax import format_expression, read
from tests.data import from_table
from tests.unit.engine.cel.outlines import outline

VPOL = ENVIRONMENTS["vpol"]


def _formatted(source: str, width: float = 40) -> str:
    text = format_expression(read(source, VPOL), width)
    assert format_expression(read(text, VPOL), width) == text
    return text


@from_table("source", "text")
def test_one_line(source: str, text: str) -> None:
    assert _formatted(source) == text
    before, after = (outline(parse(each, VPOL).root, places=False) for each in (source, text))
    assert before == after


@from_table("source", "text")
def test_literals_have_the_quotes_that_need_fewer_escapes(source: str, text: str) -> None:
    assert _formatted(source) == text


@from_table("source", "text")
def test_long_expressions_break(source: str, text: str) -> None:
    assert _formatted(source) == text
    assert _formatted(text, math.inf) == source


def test_indentation_is_the_callers() -> None:
    tree = read("a.all(c, c.image != '')", VPOL)
    assert format_expression(tree, 20, indent=4) == "a.all(c,\n    c.image != ''\n)"


@from_table("source", "text")
def test_comments_are_kept(source: str, text: str) -> None:
    assert _formatted(source) == text
