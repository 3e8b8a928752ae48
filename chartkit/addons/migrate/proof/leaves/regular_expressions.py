"""Texts that a regular expression matches, and texts next to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_CLASSES: Final = {"d": "1", "w": "a", "s": " ", "D": "x", "W": "-", "S": "x", "b": "", "B": ""}
_CONTROL: Final = {"n": "\n", "t": "\t", "r": "\r"}
_REPEATED: Final = re.compile(r"\{(\d+)(?:,\d*)?\}\??|[*+?]\??")
_GROUP: Final = re.compile(r"\?(?:P?<\w+>|[imsU-]*:)")
_DEPTH: Final = 50


def matching(pattern: str) -> list[str]:
    """Return samples of an expression's alternatives, then texts that it may not match."""
    samples = [one for one in _samples(pattern) if _matches(pattern, one)]
    unlike = [f"{one}!" for one in samples[:2]] + [one[:-1] for one in samples[:2] if one]
    return [*dict.fromkeys((*samples[:6], *unlike, "", "unlike"))]


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True


def _samples(pattern: str) -> Iterator[str]:
    for branch in _branches(pattern):
        yield _Sampler(branch, least=False).text()
        yield _Sampler(branch, least=True).text()


def _branches(pattern: str) -> list[str]:
    """Return the alternatives of an expression's outermost group."""
    found, start, depth, at = [], 0, 0, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "|" and depth == 0:
            found.append(pattern[start:at])
            start = at + 1
        at += 1
    return [*found, pattern[start:]]


class _Sampler:
    """Makes a text from one alternative; least: whether what may be left out is."""

    def __init__(self, pattern: str, *, least: bool, depth: int = 0) -> None:
        self._pattern = pattern
        self._least = least
        self._depth = depth
        self._at = 0

    def text(self) -> str:
        made = ""
        while self._at < len(self._pattern):
            piece = self._piece()
            made += piece * self._times()
        return made

    def _times(self) -> int:
        match = _REPEATED.match(self._pattern, self._at)
        if match is None:
            return 1
        self._at = match.end()
        if match[1] is not None:
            return min(int(match[1]), 64)
        return 1 if match[0][0] == "+" or not self._least else 0

    def _piece(self) -> str:
        char = self._pattern[self._at]
        self._at += 1
        if char == "\\":
            escaped = self._pattern[self._at : self._at + 1]
            self._at += 1
            return _CLASSES.get(escaped, _CONTROL.get(escaped, escaped))
        if char == "(":
            start, depth = self._at, 1
            while self._at < len(self._pattern) and depth:
                char = self._pattern[self._at]
                if char == "\\":
                    self._at += 1
                depth += {"(": 1, ")": -1}.get(char, 0)
                self._at += 1
            inner = _GROUP.sub("", self._pattern[start : self._at - 1], count=1)
            if self._depth > _DEPTH:
                return ""
            branch = _branches(inner)[0]
            return _Sampler(branch, least=self._least, depth=self._depth + 1).text()
        if char == "[":
            end = self._pattern.find("]", self._at + 1)
            end = len(self._pattern) if end < 0 else end
            content = self._pattern[self._at : end]
            self._at = end + 1
            if not content.startswith("^"):
                if content[:1] == "\\":
                    return _CLASSES.get(content[1:2], content[1:2])
                return content[:1]
            refused = content[1:]
            return next((char for char in "x1-_/ " if not re.search(f"[{refused}]", char)), "x")
        if char == ".":
            return "x"
        return "" if char in "^$" else char
