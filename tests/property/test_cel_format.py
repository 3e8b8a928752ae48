"""Formatted expressions parse to the tree that they print, and stay as they are."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.reader import read_file
from chartkit.engine.cel import ENVIRONMENTS, CelCompileError
from chartkit.engine.cel.parser import lexer
from chartkit.engine.cel.parser.entry import parse
from chartkit.engine.cel.syntax import Expr, format_expression, read
from chartkit.engine.cel.syntax.tree import Commented, children, transform
from chartkit.errors import InputError
from chartkit.model import Json
from tests.draws import draws
from tests.property.cel_expressions import expressions
from tests.property.cel_trees import trees
from tests.shared import ROOT, shared
from tests.unit.engine.cel.outlines import outline

VPOL = ENVIRONMENTS["vpol"]
WIDTHS = st.sampled_from([1, 20, 40, 100, 1000])


def _shape(source: str) -> str:
    return outline(parse(source, VPOL).root, places=False)


def _comments(source: str) -> list[str]:
    """The comments of a text, sorted."""
    bare = "".join(found + "\n" for found in _gaps(source))
    return sorted(each.strip() for each in re.findall(r"//([^\n]*)", bare))


def _gaps(source: str) -> Iterator[str]:
    end = 0
    for token in lexer.tokenize(source)[0]:
        yield source[end : token.offset]
        end = token.offset + len(token.text)


def _without_comments(expr: Expr) -> Expr:
    while isinstance(expr, Commented):
        expr = expr.expr
    return transform(expr, _without_comments)


def _check(source: str, width: int) -> None:
    """A text formats to the same tree with the same comments, and formats to itself then."""
    text = format_expression(read(source, VPOL), width)
    assert _shape(text) == _shape(source)
    assert _comments(text) == _comments(source)
    assert format_expression(read(text, VPOL), width) == text


@pytest.mark.slow
@given(expressions(depth=5), WIDTHS)
@draws(150)
def test_a_formatted_text_is_the_same_expression(source: str, width: int) -> None:
    _check(source, width)


@pytest.mark.slow
@given(trees(), WIDTHS)
@draws(300)
def test_a_printed_tree_reads_as_itself(expr: Expr, width: int) -> None:
    text = format_expression(expr, width)
    again = read(text, VPOL)
    assert format_expression(again, width) == text
    assert again == _without_comments(expr)


@pytest.mark.slow
@given(trees(commented=True), WIDTHS)
@draws(300)
def test_comments_stay_where_they_are_printed(expr: Expr, width: int) -> None:
    text = format_expression(expr, width)
    again = read(text, VPOL)
    assert format_expression(again, width) == text
    assert format_expression(_without_comments(expr), width) == format_expression(
        _without_comments(again), width
    )
    assert len(_comments(text)) == _count(expr)


def _count(expr: Expr) -> int:
    own = len(expr.comments) if isinstance(expr, Commented) else 0
    return own + sum(map(_count, children(expr)))


@pytest.mark.slow
@given(expressions(depth=4), st.lists(st.integers(0, 60), max_size=3), WIDTHS)
@draws(200)
def test_comments_between_any_tokens_are_kept(source: str, places: list[int], width: int) -> None:
    pieces: list[str] = []
    tokens = lexer.tokenize(source)[0]
    for number, (token, gap) in enumerate(zip(tokens, _gaps(source), strict=True)):
        comment = f" // no. {number}\n" if number in places else ""
        text = "" if token.kind == lexer.EOF else token.text
        pieces.append(f"{gap}{comment}{text}")
    _check("".join(pieces), width)


def _expressions_in(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, str) and key.lower().endswith(("expression", "expr")):
                yield each
            else:
                yield from _expressions_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _expressions_in(each)


def _check_all(sources: set[str]) -> int:
    checked = 0
    for source in sources:
        try:
            parse(source, VPOL)
        except CelCompileError:
            continue
        _check(source, 100)
        checked += 1
    return checked


def _in_yaml(folder: Path) -> set[str]:
    """The expressions of a folder's files; policies with parameters are not YAML as they are."""
    found: set[str] = set()
    for path in sorted(folder.rglob("*.yaml")):
        with suppress(InputError):
            found.update(s for each in read_file(path) for s in _expressions_in(each.body))
    return found


def test_expressions_of_the_profiles() -> None:
    assert _check_all(_in_yaml(ROOT / "profiles")) > 50


@pytest.mark.parametrize("group", ["vpol", "mpol", "gpol", "cel"])
def test_expressions_of_the_policy_library(group: str) -> None:
    folders = shared("conformance/policy-library").glob(f"*-{group}")
    assert _check_all(set().union(*map(_in_yaml, folders)))


@pytest.mark.parametrize("name", ["cel", "cel-kyverno", "cel-policies"])
def test_recorded_expressions(name: str) -> None:
    path = shared(f"conformance/engine/{name}.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()
    sources = {source for line in lines for source in _expressions_in(json.loads(line))}
    assert _check_all(sources) > 100
