"""Text made at random from a regular expression of the POSIX kind.

Its syntax is literals, `.`, bracket classes, groups, `|`, and repetition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from chartkit.go import GoError
from chartkit.go.regexp import compile_regex

Chance = Callable[[int], int]
"""A number from 0 up to but not including the limit that it is given."""

_MAX_WORK = 200_000
"""Characters and repetitions of one text."""


UNBOUNDED = 4096
"""The most repetitions of Kyverno's generator for `*`, `+` or `{n,}`."""

_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NAMED = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\x00-\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00-\x1f\x7f-\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@[-`{-~",
    "space": "\t-\r - ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_-_",
    "xdigit": "0-9A-Fa-f",
}

_Range = tuple[int, int]


class RandomTextError(GoError):
    """No text can be made from a pattern."""


@dataclass(slots=True)
class _Source:
    """Chance, and how much may still be made with it."""

    below: Chance
    left: int = _MAX_WORK

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise RandomTextError("the pattern makes too long a text")


_Generator = Callable[[_Source], str]


def generate(pattern: str, chance: Chance) -> str:
    """A text that matches the pattern; raises `RegexError` or `RandomTextError`."""
    compile_regex(pattern, perl=False)
    try:
        return _compile(pattern)(_Source(chance))
    except RecursionError:
        raise RandomTextError("the pattern is nested too deeply") from None


@lru_cache(maxsize=256)
def _compile(pattern: str) -> _Generator:
    return _Reader(pattern).alternatives()


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1 : self._at]

    def alternatives(self) -> _Generator:
        choices = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            choices.append(self._sequence())
        if len(choices) == 1:
            return choices[0]
        return lambda source: choices[source.below(len(choices))](source)

    def _sequence(self) -> _Generator:
        parts: list[_Generator] = []
        while self._peek() not in ("", "|", ")"):
            atom = self._atom()
            while bounds := self._bounds():
                atom = _repeat(atom, *bounds)
            parts.append(atom)
        return lambda source: "".join(part(source) for part in parts)

    def _atom(self) -> _Generator:
        character = self._next()
        if character == "(":
            inner = self.alternatives()
            self._at += 1
            return inner
        if character == "[":
            negated = self._peek() == "^"
            self._at += negated
            ranges: list[_Range] = []
            first = True
            while first or self._peek() != "]":
                first = False
                if self._pattern.startswith("[:", self._at):
                    ranges += self._named_class()
                    continue
                low = self._class_character()
                high = low
                if self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] != "]":
                    self._at += 1
                    high = self._class_character()
                ranges.append((ord(low), ord(high)))
            self._at += 1
            return _one_of(_complement([*ranges, (10, 10)]) if negated else ranges)
        if character == ".":
            return _one_of([(1, 9), (11, _LAST)])
        if character in ("^", "$"):
            return lambda _: ""
        text = self._escape() if character == "\\" else character
        return lambda _: text

    def _escape(self) -> str:
        character = self._next()
        if character == "x":
            if self._peek() == "{":
                end = self._pattern.index("}", self._at)
                digits = self._pattern[self._at + 1 : end]
                self._at = end + 1
            else:
                digits = self._next() + self._next()
            return chr(int(digits, 16))
        if character in "01234567":
            digits = character
            while len(digits) < 3 and self._peek() and self._peek() in "01234567":
                digits += self._next()
            return chr(int(digits, 8))
        return _ESCAPES.get(character, character)

    def _bounds(self) -> tuple[int, int] | None:
        simple = {"*": (0, UNBOUNDED), "+": (1, UNBOUNDED), "?": (0, 1)}.get(self._peek())
        if simple:
            self._at += 1
            return simple
        end = self._pattern.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        least, comma, most = self._pattern[self._at + 1 : end].partition(",")
        if not least.isdigit() or (most and not most.isdigit()):
            return None
        self._at = end + 1
        if not comma:
            return int(least), int(least)
        return int(least), int(most) if most else max(UNBOUNDED, int(least))

    def _class_character(self) -> str:
        character = self._next()
        return self._escape() if character == "\\" else character

    def _named_class(self) -> list[_Range]:
        end = self._pattern.index(":]", self._at)
        name = self._pattern[self._at + 2 : end]
        self._at = end + 2
        text = _NAMED[name.removeprefix("^")]
        step = 3 if "-" in text else 2
        ends = [(text[at], text[at + step - 1]) for at in range(0, len(text), step)]
        ranges = [(ord(low), ord(high)) for low, high in ends]
        return _complement(ranges) if name.startswith("^") else ranges


def _repeat(atom: _Generator, least: int, most: int) -> _Generator:
    def repeat(source: _Source) -> str:
        count = least + source.below(most - least + 1)
        source.spend(count)
        parts = []
        for _ in range(count):
            parts.append(atom(source))
            source.spend(len(parts[-1]))
        return "".join(parts)

    return repeat


def _complement(ranges: list[_Range]) -> list[_Range]:
    gaps, low = [], 1
    for start, end in sorted(ranges):
        if start > low:
            gaps.append((low, start - 1))
        low = max(low, end + 1)
    return [*gaps, (low, _LAST)] if low <= _LAST else gaps


def _one_of(ranges: list[_Range]) -> _Generator:
    sizes = [end - start + 1 for start, end in ranges]

    def pick(source: _Source) -> str:
        if not sizes:
            raise RandomTextError("the pattern matches no character")
        index = source.below(sum(sizes))
        for (start, _), size in zip(ranges, sizes, strict=True):
            if index < size:
                return "\ufffd" if start + index in _SURROGATES else chr(start + index)
            index -= size
        raise AssertionError("the index is below the sum of the sizes")

    return pick
