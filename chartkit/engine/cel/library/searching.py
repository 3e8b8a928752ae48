"""Searches for regular expressions: what they take, and how far they may go.

RE2 searches in linear time, but looks for every further match anew, maybe as far as the text's end;
and a large pattern takes all its steps at every character where its automaton is not kept whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from chartkit.engine.cel.library.costs import MAX_PATTERNS, MAX_STEPS, bounded
from chartkit.engine.cel.values import Value
from chartkit.go.regexp import Regex, compile_regex

T = TypeVar("T")

_STEPS: Final = 300
"""Steps of an automaton that are as much work as one member of a list."""

_LARGE: Final = 48
"""Instructions of a pattern with an automaton that may be too large to be kept."""

_SLOWER: Final = 8
"""The factor by which a step is slower without an automaton."""

_CALL: Final = 72

_REPLACED: Final = 2000
"""Matches that are assumed where they were not counted."""


class Patterns:
    """The patterns that one expression writes out: together they may only be so large."""

    __slots__ = ("_size",)

    def __init__(self) -> None:
        self._size = 0

    def read(self, pattern: str) -> None:
        """Takes one more; raises `RegexError`, and `CostLimitExceeded` where they are too large."""
        bounded(self._size, MAX_PATTERNS)
        self._size += compile_regex(pattern).size
        bounded(self._size, MAX_PATTERNS)


def _steps(regex: Regex, length: int) -> int:
    size = regex.size
    return length * (_SLOWER * size if size >= _LARGE else 1 + size // 10)


def searched(regex: Regex, length: int, matches: int = 1) -> int:
    """The work of finding a number of matches in a text of a length."""
    return _steps(regex, length) * matches // _STEPS


def is_found(regex: Regex, text: str) -> bool:
    """Report whether a pattern is found anywhere in a text; raises `CostLimitExceeded`."""
    bounded(_steps(regex, len(text)), MAX_STEPS)
    return regex.matches(text)


def bounded_matches(regex: Regex, text: str, matches: Iterator[T]) -> Iterator[T]:
    """Matches of a pattern in a text; raises `CostLimitExceeded` where to find them takes long."""
    steps = _steps(regex, len(text))
    bounded(steps, MAX_STEPS)
    for count, match in enumerate(matches, start=1):
        bounded(steps * count, MAX_STEPS)
        yield match


def of_search(args: Sequence[Value], _result: Value) -> int:
    """The work of one search in the first argument for the second."""
    return _work(args, 1)


def of_search_for_all(args: Sequence[Value], result: Value) -> int:
    """The work of finding all that is in the result."""
    return _work(args, 1 + len(result)) if isinstance(result, list) else _CALL


def of_replacing(args: Sequence[Value], _result: Value) -> int:
    """The work of a replacement, which does not tell how often it replaced, unless it is never."""
    text, limit = args[0], args[3] if len(args) > 3 else -1
    return _work(args, min(_REPLACED, len(text))) if isinstance(text, str) and limit else _CALL


def _work(args: Sequence[Value], matches: int) -> int:
    text, pattern = args[:2]
    if not (isinstance(text, str) and isinstance(pattern, str)):
        return _CALL
    regex = compile_regex(pattern)
    # A pattern that is not known before may have to be compiled.
    return _CALL + regex.size + searched(regex, len(text), matches)
