"""Tokens: the longest wins, and what begins none is complained about."""

from chartkit.engine.cel.parser.lexer import EOF, tokenize
from tests.data import from_table


def kinds(source: str) -> list[tuple[str, str]]:
    tokens, issue = tokenize(source)
    assert issue is None
    assert tokens[-1].kind == EOF
    assert tokens[-1].offset == len(source)
    assert all(source[t.offset :].startswith(t.text) for t in tokens[:-1])
    return [(token.kind, token.text) for token in tokens[:-1]]


@from_table("source", "expected")
def test_lexer_tokens(source: str, expected: list[list[str]]) -> None:
    assert list(map(list, kinds(source))) == expected


@from_table("source", "error", "offset")
def test_what_begins_no_token_ends_them(source: str, error: str, offset: int) -> None:
    tokens, issue = tokenize(source)
    assert issue is not None
    assert issue.message == f"Syntax error: token recognition error at: '{error}'"
    assert (issue.offset, tokens[-1].kind, tokens[-1].offset) == (offset, EOF, offset)
