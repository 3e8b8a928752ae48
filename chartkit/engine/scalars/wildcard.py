"""Wildcards as Kyverno matches them: `*` is any run of characters, `?` exactly one.

Nothing else is special, and a path separator is a character like any other
(`ext/wildcard` in Kyverno).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import re2

Matcher = Callable[[str], bool]


def has_wildcard(text: str) -> bool:
    """Return whether a text holds a `*` or a `?`."""
    return "*" in text or "?" in text


@lru_cache(maxsize=4096)
def compile_wildcard(pattern: str) -> Matcher:
    """A function that tells whether a whole text matches the pattern."""
    if not has_wildcard(pattern):
        return pattern.__eq__
    if not pattern.strip("*"):
        return lambda _: True
    if "?" not in pattern:
        return _compile_stars(pattern.split("*"))
    expression = "".join(
        {"*": ".*", "?": "."}.get(character) or re2.escape(character) for character in pattern
    )
    match = re2.compile(f"(?s){expression}").fullmatch
    return lambda text: match(text) is not None


def _compile_stars(parts: list[str]) -> Matcher:
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
