"""The part of `re2` (google-re2) that chartkit uses, by RE2JS (`docs/playground/re2.ts`).

Strings alone go between both: an image of Python's memory refers to nothing outside of it.
RE2JS takes repeated classes for which RE2 has not enough memory, and of several mistakes in a
pattern it may name another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_REFUSED: Final = re.compile(r".*?error parsing regexp: (.*?)(?:: `(.*)`)?", re.DOTALL)
_LOOK_BEHIND: Final = re.compile(r"\(\?<[=!]")


class error(Exception):  # noqa: N801, N818 - re2's name
    """A pattern that is refused."""


class Options:
    """Options of `compile`."""

    log_errors = True
    posix_syntax = False
    case_sensitive = True


class _Match:
    """A match: the places of its groups in the text."""

    __slots__ = ("_places", "_text")

    def __init__(self, text: str, places: list[int]) -> None:
        self._text = text
        self._places = places

    def span(self, group: int = 0) -> tuple[int, int]:
        """Return the beginning and the end of a group; -1 for one that took no part."""
        return self._places[2 * group], self._places[2 * group + 1]

    def group(self, group: int = 0) -> str | None:
        """Return the text of a group; None for one that took no part."""
        start, stop = self.span(group)
        return self._text[start:stop] if start >= 0 else None


class _Regexp:
    """A compiled pattern."""

    def __init__(self, pattern: str, options: str) -> None:
        self._asked = pattern, options
        answer = _answer(*self._asked)
        if "error" in answer:
            raise error(_worded(answer["error"]))
        self.groups: int = answer["groups"]
        self.groupindex: dict[str, int] = answer["names"]
        self.programsize: int = answer["size"]

    def search(self, text: str | bytes) -> _Match | None:
        """Return the leftmost match; None without a match."""
        return next(self._found(text, "first"), None)

    def fullmatch(self, text: str | bytes) -> _Match | None:
        """Return the match of the whole text; None without a match."""
        return next(self._found(text, "whole"), None)

    def finditer(self, text: str | bytes) -> Iterator[_Match]:
        """Yield the matches, one after the other."""
        return self._found(text, "all")

    def _found(self, text: str | bytes, wanted: str) -> Iterator[_Match]:
        read = text if isinstance(text, str) else text.decode()
        for places in _answer(*self._asked, read, wanted):
            yield _Match(read, places)


def _answer(*question: str) -> Any:
    import js  # type: ignore[import-not-found]  # Pyodide's, which is nowhere else.

    return json.loads(js.chartkitRe2(*question))


def _worded(message: str) -> str:
    """Return the reason why a pattern is refused, in RE2's form `REASON: PART`."""
    refused = _REFUSED.fullmatch(message)
    if refused is None:
        return message
    reason, part = refused.groups()
    if part is None:
        return "trailing \\" if reason.startswith("trailing backslash") else reason
    if look_behind := _LOOK_BEHIND.match(part):
        return f"invalid perl operator: {look_behind[0]}"
    return f"{reason}: {part}"


def compile(pattern: str, options: Options | None = None) -> _Regexp:
    """Return a pattern, compiled; raise `error`."""
    given = options or Options()
    chosen = "posix" if given.posix_syntax else "" if given.case_sensitive else "i"
    return _Regexp(pattern, chosen)
