"""What expressions parse to, where their nodes stand, and what is too much."""

import pytest

from chartkit.engine.cel.ast import ListLiteral
from chartkit.engine.cel.declarations import environment
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.parser import entry, parser
from chartkit.engine.cel.parser.entry import parse
from tests.data import from_table
from tests.errors import error_of
from tests.unit.engine.cel.outlines import outline

PLAIN = environment("plain", ())


@from_table("source", "tree", named_by="source")
def test_parser_tree(source: str, tree: str) -> None:
    assert outline(parse(source, PLAIN).root) == tree


def test_parser_ids_are_unique() -> None:
    root = parse("[a, b.c, f(1)]", PLAIN).root
    assert isinstance(root, ListLiteral)
    ids = [root.id, *(element.id for element in root.elements)]
    assert len(set(ids)) == len(ids)


def failure(source: str) -> str:
    return str(error_of(CelCompileError, parse, source, PLAIN))


@from_table("source", "message", "column")
def test_parser_complaint(source: str, message: str, column: int) -> None:
    dots = "." * (column - 1)
    assert failure(source) == f"ERROR: <input>:1:{column}: {message}\n | {source}\n | {dots}^"


def test_complaints_are_in_the_order_of_the_text() -> None:
    lines = [line for line in failure("[for, 1e999,\nvar]").split("\n") if line.startswith("ERROR")]
    assert lines == [
        "ERROR: <input>:1:2: reserved identifier: for",
        "ERROR: <input>:1:7: invalid double literal",
        "ERROR: <input>:2:1: reserved identifier: var",
    ]


def test_arguments_of_a_reserved_name_are_not_looked_at() -> None:
    assert failure("if(while)").count("ERROR") == 1


def test_size_limit() -> None:
    assert parse("'" + "a" * (entry.MAX_SIZE - 2) + "'", PLAIN)
    assert failure("a" * (entry.MAX_SIZE + 1)) == (
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    )


def test_only_so_many_complaints_are_shown() -> None:
    assert failure("#" * 150).count("ERROR") == 1
    names = failure(f"[{', '.join(['if'] * 150)}]").split("\n")
    assert sum(line.startswith("ERROR") for line in names) == entry.MAX_ISSUES
    assert names[-1] == "50 more errors were truncated"


NESTED = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
CHAINED = "ERROR: <input>:-1:0: max recursion depth exceeded"


@pytest.mark.parametrize(
    ("opening", "closing", "most"), [("1+(", ")", 124), ("1==(", ")", 124), ("1==1+1*(", ")", 83)]
)
def test_nesting_limit(opening: str, closing: str, most: int) -> None:
    assert parse(opening * most + "1" + closing * most, PLAIN)
    assert failure(opening * (most + 1) + "1" + closing * (most + 1)) == NESTED


@pytest.mark.parametrize("link", [".b", "[1]", "+1", "==1", ".f()"])
def test_chain_limit(link: str) -> None:
    assert parse("a" + link * parser.MAX_DEPTH, PLAIN)
    assert failure("a" + link * (parser.MAX_DEPTH + 1)) == CHAINED


def test_logical_chains_are_balanced_and_have_no_limit() -> None:
    assert parse("&&".join("a" * 5000), PLAIN)
    assert parse("!" * 5000 + "a", PLAIN)


@pytest.mark.parametrize("opening", ["(", "[", "{1:", "f(", "a.f(", "a[", "-(", "a{b:", "a?b:"])
def test_the_deepest_nesting_is_a_typed_error(opening: str) -> None:
    assert failure(opening * 5000 + "1") == NESTED
