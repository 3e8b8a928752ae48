"""What is said of texts that are no expressions."""

from __future__ import annotations

import pytest

from chartkit.engine.cel.declarations import environment
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.parser.entry import parse

PLAIN = environment("plain", ())
START = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
    "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
TEXTS: list[tuple[str, list[tuple[str, int]]]] = [
    ("1 +", [("mismatched input '<EOF>' expecting " + START, 3)]),
    ("a b", [("extraneous input 'b' expecting <EOF>", 2)]),
    ("a b c", [("mismatched input 'b' expecting <EOF>", 2)]),
    ("0XFF", [("extraneous input 'XFF' expecting <EOF>", 1)]),
    ("1.0e", [("extraneous input 'e' expecting <EOF>", 3)]),
    ("[1 2]", [("extraneous input '2' expecting {']', ','}", 3)]),
    ("[1, 2", [("mismatched input '<EOF>' expecting {']', ','}", 5)]),
    ("[1,,2]", [("mismatched input ',' expecting ']'", 3)]),
    ("f(1,)", [("mismatched input ')' expecting " + START, 4)]),
    ("{1: 2,,}", [("extraneous input ',' expecting '}'", 6)]),
    ("{1 2}", [("missing ':' at '2'", 3)]),
    ("a ? b", [("mismatched input '<EOF>' expecting ':'", 5)]),
    ("a ? b : c : d", [("mismatched input ':' expecting <EOF>", 10)]),
    ("true ? true ? 1 : 2 : 3", [("mismatched input '?' expecting ':'", 12)]),
    ("a.", [("no viable alternative at input '.'", 2)]),
    ("a..b", [("no viable alternative at input '..'", 2)]),
    (
        "a.in",
        [
            ("no viable alternative at input '.in'", 2),
            ("mismatched input '<EOF>' expecting " + START, 4),
        ],
    ),
    ("a.true", [("mismatched input 'true' expecting IDENTIFIER", 2)]),
    ("a.`b`(1)", [("mismatched input '(' expecting <EOF>", 5)]),
    ("`a`", [("mismatched input '`a`' expecting " + START, 0)]),
    (
        "-",
        [
            ("no viable alternative at input '-'", 1),
            ("mismatched input '<EOF>' expecting " + START, 1),
        ],
    ),
    (
        "--)",
        [
            ("no viable alternative at input '-)'", 2),
            ("mismatched input ')' expecting " + START, 2),
        ],
    ),
    (":1", [("extraneous input ':' expecting " + START, 0)]),
    ("a &&", [("mismatched input '<EOF>' expecting " + START, 4)]),
    ("((((", [("mismatched input '<EOF>' expecting " + START, 4)]),
    ("a.b{c 1}", [("missing ':' at '1'", 6)]),
    (
        "a{1: 2}",
        [("mismatched input '1' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}", 2)],
    ),
    (
        "x = 1",
        [("token recognition error at: '= '", 2), ("extraneous input '1' expecting <EOF>", 4)],
    ),
    ("'a' 'b'", [("extraneous input ''b'' expecting <EOF>", 4)]),
    (
        "a & b",
        [("token recognition error at: '& '", 2), ("extraneous input 'b' expecting <EOF>", 4)],
    ),
    (
        "'open",
        [
            ("token recognition error at: ''open'", 0),
            ("mismatched input '<EOF>' expecting " + START, 5),
        ],
    ),
    ("'a\nb'", [("token recognition error at: ''a\n'", 0), ("token recognition error at: '''", 4)]),
    (
        '"\\q"',
        [
            ("token recognition error at: '\"\\q'", 0),
            ("token recognition error at: '\"'", 3),
            ("mismatched input '<EOF>' expecting " + START, 4),
        ],
    ),
    (
        "é",
        [
            ("token recognition error at: 'é'", 0),
            ("mismatched input '<EOF>' expecting " + START, 1),
        ],
    ),
    (
        "#",
        [
            ("token recognition error at: '#'", 0),
            ("mismatched input '<EOF>' expecting " + START, 1),
        ],
    ),
    ("a\t\t)", [("extraneous input ')' expecting <EOF>", 3)]),
    (" ", [("mismatched input '<EOF>' expecting " + START, 1)]),
    (
        "b'\\400'",
        [
            ("token recognition error at: ''\\4'", 1),
            ("extraneous input '00' expecting <EOF>", 4),
            ("token recognition error at: '''", 6),
        ],
    ),
]


def failure(source: str) -> CelCompileError:
    with pytest.raises(CelCompileError) as raised:
        parse(source, PLAIN)
    return raised.value


@pytest.mark.parametrize(("source", "complaints"), TEXTS, ids=[repr(each[0]) for each in TEXTS])
def test_syntax_complaints(source: str, complaints: list[tuple[str, int]]) -> None:
    found = [(issue.message, issue.offset) for issue in failure(source).issues]
    assert found == [(f"Syntax error: {message}", offset) for message, offset in complaints]


def test_no_text_at_all() -> None:
    expected = "ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting "
    assert str(failure("")) == expected + START


def test_reading_goes_on_behind_an_error() -> None:
    text = str(failure("[1 2] + (3 4)\n+ {5: 6 7}"))
    assert [line for line in text.split("\n") if line.startswith("ERROR")] == [
        "ERROR: <input>:1:4: Syntax error: extraneous input '2' expecting {']', ','}",
        "ERROR: <input>:1:12: Syntax error: extraneous input '4' expecting ')'",
        "ERROR: <input>:2:9: Syntax error: extraneous input '7' expecting {'}', ','}",
    ]


def test_a_selection_without_a_name_is_told_of_twice() -> None:
    found = [(issue.message, issue.offset) for issue in failure("a.?1 == 2").issues]
    expected = "Syntax error: mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}"
    assert found == [(expected, 3), ("unsupported ident kind", 3)]


def test_only_so_many_recoveries() -> None:
    last = failure("f(1 1)+" * 40 + "1").issues[-1]
    assert last.message == "Syntax error: error recovery attempt limit exceeded: 30"


def test_only_so_much_is_skipped() -> None:
    last = failure("a.b(" + "? " * 300).issues
    limit = "ERROR: <input>:-1:0: error recovery token lookahead limit exceeded: 256"
    assert limit in [issue.message for issue in last]
