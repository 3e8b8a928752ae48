"""Wildcards as Kyverno matches them: `*` is any run of characters, `?` exactly one.

Nothing else is special, and a path separator is a character like any other
(`ext/wildcard` in Kyverno).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import re2

Matcher = Callable[[str], bool]
SPECIAL_CHARACTERS: Final = r"([\\.+()|\[\]{}^$])"
"""A regular expression of the characters that are literal in a wildcard and special in a regular
expression."""
_SPECIAL: Final = re.compile(SPECIAL_CHARACTERS)


def has_wildcard(text: str) -> bool:
    """Report whether a text holds a `*` or a `?`."""
    return "*" in text or "?" in text


@lru_cache(maxsize=4096)
def compile_wildcard(pattern: str) -> Matcher:
    """Return a function that reports whether a whole text matches the pattern."""
    if not has_wildcard(pattern):
        return pattern.__eq__
    if not pattern.strip("*"):
        return lambda _: True
    if "?" not in pattern:
        parts = pattern.split("*")
        first, *middle, last = parts
        middle = [part for part in middle if part]
        least = sum(map(len, parts))

        def matches(text: str) -> bool:
            if len(text) < least or not text.startswith(first) or not text.endswith(last):
                return False
            position, end = len(first), len(text) - len(last)
            for part in middle:
                position = text.find(part, position, end)
                if position < 0:
                    return False
                position += len(part)
            return True

        return matches
    match = re2.compile(regular_expression(pattern)).fullmatch
    return lambda text: match(text) is not None


def regular_expression(pattern: str) -> str:
    """Return the expression (RE2) of a pattern: it fits the whole text, line breaks too."""
    escaped = _SPECIAL.sub(r"\\\1", pattern)
    middle = escaped.replace("?", ".").replace("*", ".*")
    return f"(?s)^{middle}$"
