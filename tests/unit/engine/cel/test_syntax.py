"""What is said of texts that are not expressions."""

import pytest

from chartkit.engine.cel.declarations import environment
from chartkit.engine.cel.errors import CelCompileError
from chartkit.engine.cel.parser.entry import parse
from tests.errors import error_of

PLAIN = environment("plain", ())
START = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
    "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
TEXTS = [
    ("1 +", "mismatched input '<EOF>' expecting " + START, 3),
    ("a b", "extraneous input 'b' expecting <EOF>", 2),
    ("a b c", "mismatched input 'b' expecting <EOF>", 2),
    ("0XFF", "extraneous input 'XFF' expecting <EOF>", 1),
    ("1.0e", "extraneous input 'e' expecting <EOF>", 3),
    ("[1 2]", "extraneous input '2' expecting {']', ','}", 3),
    ("[1, 2", "mismatched input '<EOF>' expecting {']', ','}", 5),
    ("[1,,2]", "mismatched input ',' expecting ']'", 3),
    ("f(1,)", "mismatched input ')' expecting " + START, 4),
    ("{1: 2,,}", "extraneous input ',' expecting '}'", 6),
    ("{1 2}", "missing ':' at '2'", 3),
    ("a ? b", "mismatched input '<EOF>' expecting ':'", 5),
    ("a ? b : c : d", "mismatched input ':' expecting <EOF>", 10),
    ("true ? true ? 1 : 2 : 3", "mismatched input '?' expecting ':'", 12),
    ("a.", "no viable alternative at input '.'", 2),
    ("a..b", "no viable alternative at input '..'", 2),
    ("a.in", "no viable alternative at input '.in'", 2),
    ("a.true", "mismatched input 'true' expecting IDENTIFIER", 2),
    ("a.`b`(1)", "mismatched input '(' expecting <EOF>", 5),
    ("`a`", "mismatched input '`a`' expecting " + START, 0),
    ("-", "no viable alternative at input '-'", 1),
    ("--)", "no viable alternative at input '-)'", 2),
    (":1", "extraneous input ':' expecting " + START, 0),
    ("a &&", "mismatched input '<EOF>' expecting " + START, 4),
    ("((((", "mismatched input '<EOF>' expecting " + START, 4),
    ("a.b{c 1}", "missing ':' at '1'", 6),
    ("a{1: 2}", "mismatched input '1' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}", 2),
    ("x = 1", "token recognition error at: '= '", 2),
    ("'a' 'b'", "extraneous input ''b'' expecting <EOF>", 4),
    ("a & b", "token recognition error at: '& '", 2),
    ("'open", "token recognition error at: ''open'", 0),
    ("'a\nb'", "token recognition error at: ''a\n'", 0),
    ('"\\q"', "token recognition error at: '\"\\q'", 0),
    ("é", "token recognition error at: 'é'", 0),
    ("#", "token recognition error at: '#'", 0),
    ("a\t\t)", "extraneous input ')' expecting <EOF>", 3),
    (" ", "mismatched input '<EOF>' expecting " + START, 1),
    ("b'\\400'", "token recognition error at: ''\\4'", 1),
    ("(1 + 2", "missing ')' at '<EOF>'", 6),
    ("((1 + 2", "mismatched input '<EOF>' expecting ')'", 7),
    ("a[1", "missing ']' at '<EOF>'", 3),
    ("a.?1 == 2", "mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}", 3),
    ("[1 2] + (3 4)\n+ {5: 6 7}", "extraneous input '2' expecting {']', ','}", 3),
]


def failure(source: str) -> CelCompileError:
    return error_of(CelCompileError, parse, source, PLAIN)


@pytest.mark.parametrize(("source", "message", "offset"), TEXTS)
def test_the_first_syntax_error_is_reported(source: str, message: str, offset: int) -> None:
    (issue,) = failure(source).issues
    assert (issue.message, issue.offset) == (f"Syntax error: {message}", offset)


def test_no_text_at_all() -> None:
    expected = "ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting "
    assert str(failure("")) == expected + START
