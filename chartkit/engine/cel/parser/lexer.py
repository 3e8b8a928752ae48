"""The tokens of a CEL expression, and where a text is none.

The rules are those of cel-go's grammar: the longest token wins, and a text that begins no token is
skipped up to and including the character that spoils it, with a complaint.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from chartkit.engine.cel.errors import Issue

EOF = "<EOF>"
INT, UINT, FLOAT, STRING, BYTES = "NUM_INT", "NUM_UINT", "NUM_FLOAT", "STRING", "BYTES"
IDENTIFIER, ESCAPED = "IDENTIFIER", "ESC_IDENTIFIER"
KEYWORDS = frozenset({"in", "true", "false", "null"})


class Token(NamedTuple):
    """One token; kind: the name of its class, or for operators and keywords the text itself."""

    kind: str
    text: str
    offset: int


_ESCAPE = (
    r"""\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
)
_TEXT = "|".join(
    (
        r'[rR]"""(?s:.)*?"""',
        r"[rR]'''(?s:.)*?'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
    )
)
_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<SKIP>[\t \r\n\f]+|//[^\n]*)",
            r"(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
            r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)",
            r"(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])",
            r"(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)",
            rf"(?P<STRING>{_TEXT})",
            rf"(?P<BYTES>[bB](?:{_TEXT}))",
            r"(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)",
            r"(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)",
            r"(?P<OPERATOR>[=!<>]=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])",
        )
    )
)

# What a token that was never finished had come to: all but the character that spoils it.
_UNFINISHED = re.compile(
    "|".join(
        (
            r'"(?:E|[^\\"\n\r])*(?:P)?',
            r"'(?:E|[^\\'\n\r])*(?:P)?",
            r"`[A-Za-z0-9_.\-/ ]*",
            "[&|=]",
        )
    )
    .replace("E", _ESCAPE)
    .replace("P", r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?")
)


def tokenize(source: str) -> tuple[list[Token], list[Issue]]:
    """The tokens of an expression, an end mark last, and a complaint for each text that is none."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    position, end = 0, len(source)
    match_at = _TOKEN.match
    while position < end:
        found = match_at(source, position)
        if found is None:
            stop = _end_of_error(source, position)
            text = source[position:stop]
            issues.append(Issue(f"Syntax error: token recognition error at: '{text}'", position))
            position = stop
            continue
        kind = found.lastgroup or ""
        if kind != "SKIP":
            text = found.group()
            tokens.append(Token(_kind(kind, text), text, position))
        position = found.end()
    tokens.append(Token(EOF, EOF, end))
    return tokens, issues


def _kind(group: str, text: str) -> str:
    if group == "OPERATOR" or (group == IDENTIFIER and text in KEYWORDS):
        return text
    return group


def without_errors(text: str) -> str:
    """The text without those parts that begin no token."""
    kept: list[str] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is not None:
            kept.append(found.group())
        position = _end_of_error(text, position) if found is None else found.end()
    return "".join(kept)


def _end_of_error(source: str, position: int) -> int:
    begun = _UNFINISHED.match(source, position)
    return (begun.end() if begun else position) + 1
