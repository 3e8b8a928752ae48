"""The part of `re2` (google-re2) that chartkit uses.

A pattern becomes instructions. A search follows them one choice after the other, and none twice at
one place of a text, as RE2's BitState does: it takes time in proportion to the pattern and the
text, and prefers what comes first.

Not here: scripts (`\\p{Greek}`), and groups nested deeper than Go allows.
"""

from __future__ import annotations

from collections.abc import Iterator

from .patterns import (
    ASSERT,
    CHARACTER,
    JUMP,
    MATCH,
    SAVE,
    SET,
    SPLIT,
    Code,
    Options,
    Parser,
    begins,
)
from .patterns import error as error


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

    def __init__(self, pattern: str, options: Options) -> None:
        parser = Parser(pattern, options)
        parser.groups[0].index = 0
        code = parser.parsed().code
        self._code: Code = [*code, (MATCH, None, 0)]
        self.groups = parser.count
        self.groupindex = parser.names
        self.programsize = sum(each[0] != JUMP for each in code) + 2
        self._prefix = ""
        for kind, value, _ in code[1:]:
            if kind != CHARACTER:
                break
            self._prefix += value
        self._is_anchored = code[1:2] == [(ASSERT, begins, 0)]

    def search(self, text: str | bytes) -> _Match | None:
        """Return the leftmost match; None for none."""
        return next(self.finditer(text), None)

    def fullmatch(self, text: str | bytes) -> _Match | None:
        """Return the match of the whole text; None for none."""
        read = _text(text)
        places = self._found(read, 0, is_whole=True)
        return _Match(read, places) if places else None

    def finditer(self, text: str | bytes) -> Iterator[_Match]:
        """Yield the matches, one after the other."""
        read, start = _text(text), 0
        while start <= len(read) and (places := self._found(read, start)):
            yield _Match(read, places)
            start = places[1] + (places[1] == start)

    def _found(self, text: str, start: int, is_whole: bool = False) -> list[int] | None:
        seen: set[tuple[int, int]] = set()
        while start <= len(text):
            if self._prefix and not is_whole and (start := text.find(self._prefix, start)) < 0:
                return None
            if found := self._found_at(text, start, is_whole, seen):
                return found
            if is_whole or self._is_anchored:
                return None
            start += 1
        return None

    def _found_at(
        self, text: str, start: int, is_whole: bool, seen: set[tuple[int, int]]
    ) -> list[int] | None:
        code, end = self._code, len(text)
        places = [-1] * (2 * self.groups + 2)
        todo = [(0, start)]
        while todo:
            step, at = todo.pop()
            if step < 0:
                # A place is what it was before the choice that failed.
                places[~step] = at
                continue
            while True:
                kind, value, other = code[step]
                if kind == CHARACTER:
                    if at == end or text[at] != value:
                        break
                    at += 1
                elif kind == SET:
                    if at == end or not value[text[at]]:
                        break
                    at += 1
                elif kind == SPLIT:
                    if (step, at) in seen:
                        break
                    seen.add((step, at))
                    todo.append((step + other, at))
                    step += value
                    continue
                elif kind == JUMP:
                    step += value
                    continue
                elif kind == SAVE:
                    todo.append((~value, places[value]))
                    places[value] = at
                elif kind == ASSERT:
                    if not value(text, at):
                        break
                elif is_whole and at != end:
                    break
                else:
                    return places
                step += 1
        return None


def _text(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode()


def compile(pattern: str, options: Options | None = None) -> _Regexp:
    """Return a pattern, compiled; raise `error`."""
    return _Regexp(pattern, options or Options())
