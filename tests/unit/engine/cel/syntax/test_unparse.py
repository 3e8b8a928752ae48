"""Trees as texts: parentheses, macros, quotes, lines and comments, and the same tree again."""

import math

from chartkit.engine.cel import ENVIRONMENTS
from chartkit.engine.cel.ast import Comprehension
from chartkit.engine.cel.declarations import environment
from chartkit.engine.cel.library import standard
from chartkit.engine.cel.library.extensions import bindings, maths, optionals, two_variable
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel.syntax import format_expression, read, unparse
from tests.data import from_table
from tests.unit.engine.cel.outlines import outline

FAMILIES = (standard, two_variable, optionals, bindings, maths)
MACROS = environment("macros", tuple(each.LIBRARY for each in FAMILIES))


@from_table("source", "text")
def test_unparse_text(source: str, text: str) -> None:
    parsed = parse(source, MACROS)
    assert unparse(parsed.root, parsed.macro_calls) == text
    again = parse(text, MACROS)
    assert outline(again.root, places=False) == outline(parsed.root, places=False)


def test_without_macros_their_trees_are_shown() -> None:
    root = parse("a.exists(i, x, x)", MACROS).root
    assert unparse(root) == (
        "fold(a, i, x, @result, false, @not_strictly_false(!@result), @result || x, @result)"
    )
    assert isinstance(root, Comprehension)
    assert unparse(root.loop_step) == "@result || x"
    assert unparse(parse("has(a.b)", MACROS).root) == "has(a.b)"


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
