"""Tokens: the longest wins, and what begins none is complained about."""

import pytest

from chartkit.engine.cel.parser.lexer import EOF, tokenize
from tests.data import from_table


def kinds(source: str) -> list[tuple[str, str]]:
    tokens, issue = tokenize(source)
    assert issue is None
    assert tokens[-1].kind == EOF
    assert tokens[-1].offset == len(source)
    assert all(source[t.offset :].startswith(t.text) for t in tokens[:-1])
    return [(token.kind, token.text) for token in tokens[:-1]]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1.5", [("NUM_FLOAT", "1.5")]),
        (".5e-3", [("NUM_FLOAT", ".5e-3")]),
        ("1e5u", [("NUM_FLOAT", "1e5"), ("IDENTIFIER", "u")]),
        ("1.e5", [("NUM_INT", "1"), (".", "."), ("IDENTIFIER", "e5")]),
        ("1..2", [("NUM_INT", "1"), (".", "."), ("NUM_FLOAT", ".2")]),
        ("0x1Fu", [("NUM_UINT", "0x1Fu")]),
        ("0XF", [("NUM_INT", "0"), ("IDENTIFIER", "XF")]),
        ("12U", [("NUM_UINT", "12U")]),
        ("a.in", [("IDENTIFIER", "a"), (".", "."), ("in", "in")]),
        ("inner nullable", [("IDENTIFIER", "inner"), ("IDENTIFIER", "nullable")]),
        ("`a-b/c.d e`", [("ESC_IDENTIFIER", "`a-b/c.d e`")]),
        (
            "a<=b>=c",
            [
                ("IDENTIFIER", "a"),
                ("<=", "<="),
                ("IDENTIFIER", "b"),
                (">=", ">="),
                ("IDENTIFIER", "c"),
            ],
        ),
        ("a // b\n+ c", [("IDENTIFIER", "a"), ("+", "+"), ("IDENTIFIER", "c")]),
        ("\t\f\r\n ", []),
        ("''", [("STRING", "''")]),
        ("''''a'b'''", [("STRING", "''''a'b'''")]),
        ('"""a"b""c"""', [("STRING", '"""a"b""c"""')]),
        ("'''a''''b'", [("STRING", "'''a'''"), ("STRING", "'b'")]),
        ('""""""', [("STRING", '""""""')]),
        ('"" "a"', [("STRING", '""'), ("STRING", '"a"')]),
        (r"r'\'", [("STRING", r"r'\'")]),
        (r"'\''", [("STRING", r"'\''")]),
        (
            "b'a' B'a' br'a' Rb",
            [("BYTES", "b'a'"), ("BYTES", "B'a'"), ("BYTES", "br'a'"), ("IDENTIFIER", "Rb")],
        ),
        ("rb'a'", [("IDENTIFIER", "rb"), ("STRING", "'a'")]),
    ],
)
def test_lexer_tokens(source: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(source) == expected


@from_table("source", "error", "offset")
def test_what_begins_no_token_ends_them(source: str, error: str, offset: int) -> None:
    tokens, issue = tokenize(source)
    assert issue is not None
    assert issue.message == f"Syntax error: token recognition error at: '{error}'"
    assert (issue.offset, tokens[-1].kind, tokens[-1].offset) == (offset, EOF, offset)
