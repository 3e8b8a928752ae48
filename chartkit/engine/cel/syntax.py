"""What is wrong with tokens that are no expression."""

from __future__ import annotations

from chartkit.engine.cel.errors import Issue
from chartkit.engine.cel.lexer import Token


def complaints(token: Token) -> list[Issue]:
    """The complaints about the first token that cannot stand where it does."""
    return [Issue(f"Syntax error: mismatched input '{token.text}'", token.offset)]
