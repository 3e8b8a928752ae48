"""Expressions as texts: where lines break, which quotes they have, and where comments go."""

import math

import pytest

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


LAYOUTS = {
    "a chain breaks behind its operators": (
        "object.spec.replicas > 1 && object.kind == 'Deployment'",
        "object.spec.replicas > 1 &&\nobject.kind == 'Deployment'",
    ),
    "a chain within a chain is indented": (
        "object.metadata.name == 'one' && object.kind == 'A' || c",
        "object.metadata.name == 'one' &&\n  object.kind == 'A' ||\nc",
    ),
    "parentheses have lines of their own": (
        "a && (object.metadata.name == 'one' || object.kind == 'A')",
        "a &&\n(\n  object.metadata.name == 'one' ||\n  object.kind == 'A'\n)",
    ),
    "a conditional breaks before its signs": (
        "object.spec.replicas > 1 ? 'aaaaaaaaaaa' : 'bbbbbbbbbbb'",
        "object.spec.replicas > 1\n  ? 'aaaaaaaaaaa'\n  : 'bbbbbbbbbbb'",
    ),
    "a branch is indented": (
        "aa ? object.spec.replicas > 1 && object.kind == 'A' : 'bbbbbbbbbbb'",
        "aa\n  ? object.spec.replicas > 1 &&\n    object.kind == 'A'\n  : 'bbbbbbbbbbb'",
    ),
    "a macro keeps its variable": (
        "object.spec.containers.all(c, has(c.image) && c.image != '')",
        "object.spec.containers.all(c,\n  has(c.image) && c.image != ''\n)",
    ),
    "the last call breaks first": (
        "object.spec.a.filter(c, c > 0).map(c, c.image.registry)",
        "object.spec.a.filter(c, c > 0).map(c,\n  c.image.registry\n)",
    ),
    "a list has a line for each element": (
        "a in ['aaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbb', 'c']",
        "a in [\n  'aaaaaaaaaaaaaa',\n  'bbbbbbbbbbbbbbbb',\n  'c'\n]",
    ),
    "a map has a line for each entry": (
        "{'aaaaaaaaaaaa': {'bbbb': 'cccccc'}, 'e': 1}",
        "{\n  'aaaaaaaaaaaa': {'bbbb': 'cccccc'},\n  'e': 1\n}",
    ),
    "a sum breaks behind its signs": (
        "'Container ' + object.metadata.name + ' is bad'",
        "'Container ' +\n  object.metadata.name +\n  ' is bad'",
    ),
    "a relation breaks only where nothing inside it can": (
        "object.metadata.namespace == oldObject.metadata.namespace",
        "object.metadata.namespace ==\n  oldObject.metadata.namespace",
    ),
    "a text too long for a line stays whole": (
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_long_expressions_break(name: str) -> None:
    source, text = LAYOUTS[name]
    assert _formatted(source) == text
    assert _formatted(text, math.inf) == source


def test_indentation_is_the_callers() -> None:
    tree = read("a.all(c, c.image != '')", VPOL)
    assert format_expression(tree, 20, indent=4) == "a.all(c,\n    c.image != ''\n)"


COMMENTS = {
    "before the whole": ("//one\n// two \na", "// one\n// two\na"),
    "before a term": ("a &&\n// why\nb", "a &&\n// why\nb"),
    "behind a term": ("a && // of a\nb && // of b\nc", "// of a\na &&\n// of b\nb &&\nc"),
    "behind a call": ("a && b.all(c, c > 1) // why\n", "a &&\n// why\nb.all(c, c > 1)"),
    "at the end": ("a ||\nb\n// end", "a ||\n// end\nb"),
    "within a term": ("a && b ==\n// odd\n1", "a &&\n// odd\nb == 1"),
    "before an argument": ("f(\n// x\nx, y)", "f(\n  // x\n  x,\n  y\n)"),
    "of a macro's variable": ("a.all(c, // each\nc)", "// each\na.all(c, c)"),
    "of a macro's body": ("a.all(c,\n// each\nc)", "a.all(c,\n  // each\n  c\n)"),
    "before branches": ("a\n// x\n? b : // y\nc", "a\n  // x\n  ? b\n  // y\n  : c"),
    "in a list": ("[ // first\n?a, // a\nb]", "[\n  // first\n  // a\n  ?a,\n  b\n]"),
    "in a map": ("{ // k\n?'k': 1,\n// l\n'l': 2}", "{\n  // k\n  ?'k': 1,\n  // l\n  'l': 2\n}"),
    "in an object": ("Object{\n// f\nf: 1}", "Object{\n  // f\n  f: 1\n}"),
    "of a text that is none": ("'// no' == a // yes", "// yes\n'// no' == a"),
    "among dropped signs": ("!! // x\n!(a)\n&& - - // y\n1 < 2", "// x\n!a &&\n// y\n1 < 2"),
}


@pytest.mark.parametrize("name", COMMENTS)
def test_comments_are_kept(name: str) -> None:
    source, text = COMMENTS[name]
    assert _formatted(source) == text
