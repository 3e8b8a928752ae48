"""What expressions parse to, where their nodes stand, and what is too much."""

import pytest

from chartkit.engine.cel.ast import ListLiteral
from chartkit.engine.cel.declarations import environment
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.parser import entry, parser
from chartkit.engine.cel.parser.entry import parse
from tests.data import from_table
from tests.unit.engine.cel.outlines import outline

PLAIN = environment("plain", ())
TREES = [
    ("a + 1", "_+_(a@0, 1@4)@2"),
    ("a.b", "select(a@0, b)@1"),
    ("a.b.c[0]", "_[_](select(select(a@0, b)@1, c)@3, 0@6)@5"),
    ("a.f(1, x)", "a@0.f(1@4, x@7)@3"),
    ("f()", "f()@1"),
    (".a", ".a@1"),
    (".f(1)", ".f(1@3)@2"),
    ("a.?b", "_?._(a@0, 'b'@3)@1"),
    ("a[?0]", "_[?_](a@0, 0@3)@1"),
    ("[1, ?a, 2,]", "[1@1, ?a@5, 2@8]@0"),
    ("{'k': 1, ?'o': a,}", "{'k'@1:@4 1@6; ?'o'@10:@13 a@15; }@0"),
    ("a.b.C{f: 1, ?g: 2}", "a.b.C{f:@7 1@9; ?g:@14 2@16; }@5"),
    (".C{}", ".C{}@2"),
    ("!a", "!_(a@1)@0"),
    ("!!a", "a@2"),
    ("-a", "-_(a@1)@0"),
    ("--a", "a@2"),
    ("---a", "-_(a@3)@0"),
    ("- 1", "-1@0"),
    ("-1.5", "-1.5@0"),
    ("--1", "1@2"),
    ("!-1", "!_(-1@1)@0"),
    ("-1.f()", "-1@0.f()@4"),
    ("-1u", "-_(1u@1)@0"),
    ("(a)", "a@1"),
    ("a ? b : c", "_?_:_(a@0, b@4, c@8)@2"),
    ("a ? b : c ? d : e", "_?_:_(a@0, b@4, _?_:_(c@8, d@12, e@16)@10)@2"),
    ("a < b < c", "_<_(_<_(a@0, b@4)@2, c@8)@6"),
    ("a in b == c", "_==_(@in(a@0, b@5)@2, c@10)@7"),
    ("a + b * c - d", "_-_(_+_(a@0, _*_(b@4, c@8)@6)@2, d@12)@10"),
    ("a && b", "_&&_(a@0, b@5)@2"),
    ("a && b && c", "_&&_(_&&_(a@0, b@5)@2, c@10)@7"),
    ("a && b && c && d", "_&&_(_&&_(a@0, b@5)@2, _&&_(c@10, d@15)@12)@7"),
    ("a || b && c || d", "_||_(_||_(a@0, _&&_(b@5, c@10)@7)@2, d@15)@12"),
    ("a == 1 // why\n  && b", "_&&_(_==_(a@0, 1@5)@2, b@19)@16"),
    ("a.`b c`", "select(a@0, b c)@1"),
    ("a.`in`", "select(a@0, in)@1"),
    ("a.if", "select(a@0, if)@1"),
    ("a.if()", "a@0.if()@4"),
    ("a{`f g`: 1}", "a{f g:@7 1@9; }@1"),
    ("'é' + a", "_+_('é'@0, a@6)@4"),
]


@pytest.mark.parametrize(("source", "tree"), TREES, ids=[source for source, _ in TREES])
def test_parser_tree(source: str, tree: str) -> None:
    assert outline(parse(source, PLAIN).root) == tree


def test_parser_ids_are_unique() -> None:
    root = parse("[a, b.c, f(1)]", PLAIN).root
    assert isinstance(root, ListLiteral)
    ids = [root.id, *(element.id for element in root.elements)]
    assert len(set(ids)) == len(ids)


def failure(source: str) -> str:
    with pytest.raises(CelCompileError) as raised:
        parse(source, PLAIN)
    return str(raised.value)


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
    ("opening", "closing", "most"),
    [("1+(", ")", 124), ("1==(", ")", 124), ("1==1+1*(", ")", 83)],
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
