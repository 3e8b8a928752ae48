"""Texts that wildcards and regular expressions take together: products of small automata.

A language is a wildcard of Kyverno's or a regular expression of RE2, wanted or not. What the
expressions here do not know (assertions inside, classes of Unicode) is not a regular language.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from chartkit.engine.scalars.wildcard import regular_expression

_MOST_STATES: Final = 4_000
"""The most states of a product: what has more is not decided."""
_MOST_LANGUAGES: Final = 40
_MOST_KNOWN: Final = 10_000
_MOST_COPIES: Final = 300
_LAST: Final = 0x10FFFF
_NICE: Final = "axz019-/.:_"
"""Characters that examples have where several would do, best first."""

Ranges = tuple[tuple[int, int], ...]
_ANY: Final[Ranges] = ((0, _LAST),)
_CLASSES: Final[dict[str, Ranges]] = {
    "d": ((48, 57),),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "s": ((9, 10), (12, 13), (32, 32)),
}


class TooLargeError(Exception):
    """Languages whose product is larger than what is looked at."""


class UnreadableError(Exception):
    """A regular expression with parts that are not known here."""


@dataclass(frozen=True, slots=True)
class Language:
    """The texts that a wildcard (or a regular expression that is searched for) takes; wanted:
    False for all the others."""

    pattern: str
    is_regex: bool = False
    wanted: bool = True


def one_of_wildcards(patterns: Iterable[str], wanted: bool = True) -> Language:
    """Return the language of the texts that one of some wildcards takes."""
    choices = "|".join(
        regular_expression(pattern).removeprefix("(?s)^").removesuffix("$") for pattern in patterns
    )
    return Language(f"(?s)^({choices})$", True, wanted)


@dataclass(slots=True)
class _Automaton:
    """steps: by state the ranges of characters and the state that each leads to; free: states that
    need no character; known: where characters lead to from sets of states."""

    steps: list[list[tuple[Ranges, int]]] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    known: dict[tuple[frozenset[int], int], frozenset[int]] = field(default_factory=dict)

    def state(self) -> int:
        if len(self.steps) > _MOST_STATES:
            raise TooLargeError
        self.steps.append([])
        self.free.append([])
        return len(self.steps) - 1

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        reached = set(states)
        waiting = list(reached)
        while waiting:
            for state in self.free[waiting.pop()]:
                if state not in reached:
                    reached.add(state)
                    waiting.append(state)
        return frozenset(reached)

    def after(self, states: frozenset[int], character: int) -> frozenset[int]:
        states_after = self.known.get((states, character))
        if states_after is None:
            states_after = self.closure(
                target
                for state in states
                for ranges, target in self.steps[state]
                if any(low <= character <= high for low, high in ranges)
            )
            if len(self.known) < _MOST_KNOWN:
                self.known[states, character] = states_after
        return states_after


class _Reader:
    """Reads a regular expression into an automaton; each part goes from one state to another."""

    def __init__(self, text: str, automaton: _Automaton) -> None:
        self.text, self.at, self.automaton, self.copies = text, 0, automaton, 0
        self.any: Ranges = ((0, 9), (11, _LAST))

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def take(self) -> str:
        character = self.peek()
        if not character:
            raise UnreadableError
        self.at += 1
        return character

    def whole(self, start: int) -> int:
        """Read choices that may begin with `^` and end with `$`."""
        if self.text.startswith("(?s)"):
            self.at, self.any = 4, _ANY
        final = self.automaton.state()
        while True:
            begin = self.automaton.state()
            self.automaton.free[start].append(begin)
            if self.peek() == "^":
                self.take()
            else:
                self._step(begin, _ANY, begin)
            end = self.sequence(begin)
            if self.peek() == "$":
                self.take()
            else:
                following = self.automaton.state()
                self.automaton.free[end].append(following)
                self._step(following, _ANY, following)
                end = following
            self.automaton.free[end].append(final)
            if not self.peek():
                return final
            if self.take() != "|":
                raise UnreadableError

    def choice(self, start: int) -> int:
        end = self.automaton.state()
        while True:
            begin = self.automaton.state()
            self.automaton.free[start].append(begin)
            self.automaton.free[self.sequence(begin)].append(end)
            if self.peek() != "|":
                return end
            self.take()

    def sequence(self, start: int) -> int:
        while self.peek() and self.peek() not in "|)$":
            start = self.repeated(start)
        return start

    def repeated(self, start: int) -> int:
        begin = self.at
        end = self.atom(start)
        least, most = self.count()
        if (least, most) == (1, 1):
            return end
        after, body = self.at, self.text[begin : self.at]
        self.copies += most or least or 1
        if self.copies > _MOST_COPIES or not body:
            raise TooLargeError
        least_copies, most_copies = (least, most)
        automaton = self.automaton
        current = automaton.state()
        automaton.free[start].append(current)
        final = automaton.state()
        for number in range(max(least_copies, most_copies or least_copies + 1)):
            if number >= least_copies:
                automaton.free[current].append(final)
            self.at = begin
            following = automaton.state()
            automaton.free[self.atom(current)].append(following)
            if most_copies is None and number >= least_copies:
                automaton.free[following].append(current)
            current = following
        automaton.free[current].append(final)
        self.at = after
        return final

    def count(self) -> tuple[int, int | None]:
        """Read what stands behind a part: how often it may stand, None for any number of times."""
        sign = self.peek()
        if sign and sign in "*+?":
            self.take()
            bounds: tuple[int, int | None] = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif sign == "{":
            end = self.text.find("}", self.at)
            low, comma, high = self.text[self.at + 1 : end].partition(",")
            if not low.isdecimal() or (high and not high.isdecimal()) or len(low + high) > 6:
                raise UnreadableError
            self.at = end + 1
            bounds = (int(low), int(high) if high else None if comma else int(low))
        else:
            return 1, 1
        if self.peek() == "?":
            self.take()
        return bounds

    def atom(self, start: int) -> int:
        character = self.take()
        if character == "(":
            if self.text.startswith("?:", self.at):
                self.at += 2
            elif self.peek() == "?":
                raise UnreadableError
            end = self.choice(start)
            if self.take() != ")":
                raise UnreadableError
            return end
        if character in "^*+?{":
            raise UnreadableError
        ranges = {".": self.any}.get(character)
        if character == "[":
            ranges = self.bracket()
        elif character == "\\":
            ranges = self.escape()
        end = self.automaton.state()
        self._step(start, ranges or ((ord(character), ord(character)),), end)
        return end

    def escape(self) -> Ranges:
        character = self.take()
        if character in _CLASSES:
            return _CLASSES[character]
        if character.lower() in _CLASSES:
            return _others(_CLASSES[character.lower()])
        code = {"n": 10, "t": 9, "r": 13}.get(character, ord(character))
        if character.isalnum() and code == ord(character):
            raise UnreadableError
        return ((code, code),)

    def bracket(self) -> Ranges:
        negated = self.peek() == "^"
        self.at += negated
        members: list[tuple[int, int]] = []
        while (character := self.take()) != "]" or not members:
            if character == "[" and self.peek() == ":":
                raise UnreadableError
            ranges = self.escape() if character == "\\" else ((ord(character), ord(character)),)
            is_range = self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", "")
            if is_range and len(ranges) == 1:
                self.take()
                last = self.take()
                high = self.escape()[0][1] if last == "\\" else ord(last)
                ranges = ((ranges[0][0], high),)
            members += ranges
        return _others(tuple(members)) if negated else tuple(members)

    def _step(self, start: int, ranges: Ranges, end: int) -> None:
        self.automaton.steps[start].append((ranges, end))


def _others(ranges: Ranges) -> Ranges:
    gaps: list[tuple[int, int]] = []
    after = 0
    for low, high in sorted(ranges):
        if low > after:
            gaps.append((after, low - 1))
        after = max(after, high + 1)
    if after <= _LAST:
        gaps.append((after, _LAST))
    return tuple(gaps)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, is_regex: bool) -> tuple[_Automaton, int]:
    """Return the automaton of a pattern and its final state; state 0 is the first."""
    automaton = _Automaton()
    start = automaton.state()
    if is_regex:
        return automaton, _Reader(pattern, automaton).whole(start)
    for character in pattern:
        if character == "*":
            automaton.steps[start].append((_ANY, start))
            continue
        end = automaton.state()
        ranges = _ANY if character == "?" else ((ord(character), ord(character)),)
        automaton.steps[start].append((ranges, end))
        start = end
    return automaton, start


def is_readable(pattern: str) -> bool:
    """Report whether a regular expression is one that is known here."""
    try:
        _compiled(pattern, True)
    except (UnreadableError, TooLargeError, RecursionError):
        return False
    return True


def shortest(languages: Sequence[Language]) -> str | None:
    """Return a shortest text that is in all the languages; None if no text is.

    Raises TooLargeError where that is not found within a bounded number of states.
    """
    text = _shortest(tuple(dict.fromkeys(languages)))
    if isinstance(text, TooLargeError):
        raise text
    return text


@lru_cache(maxsize=1024)
def _shortest(languages: tuple[Language, ...]) -> str | TooLargeError | None:
    if len(languages) > _MOST_LANGUAGES:
        return TooLargeError()
    try:
        parts = [(*_compiled(own.pattern, own.is_regex), own.wanted) for own in languages]
    except (TooLargeError, UnreadableError, RecursionError):
        return TooLargeError()
    alphabet = _alphabet([automaton for automaton, _, _ in parts])
    if len(alphabet) * len(languages) > _MOST_LANGUAGES * _MOST_LANGUAGES:
        return TooLargeError()
    first = tuple(automaton.closure((0,)) for automaton, _, _ in parts)
    seen = {first}
    waiting = deque([(first, "")])
    while waiting:
        states, text = waiting.popleft()
        if all(
            (final in reached) is wanted
            for (_, final, wanted), reached in zip(parts, states, strict=True)
        ):
            return text
        for character in alphabet:
            after = tuple(
                automaton.after(reached, character)
                for (automaton, _, _), reached in zip(parts, states, strict=True)
            )
            is_dead = any(
                wanted and not reached for (_, _, wanted), reached in zip(parts, after, strict=True)
            )
            if is_dead or after in seen:
                continue
            if len(seen) >= _MOST_STATES:
                return TooLargeError()
            seen.add(after)
            waiting.append((after, text + chr(character)))
    return None


def _alphabet(automata: Sequence[_Automaton]) -> list[int]:
    """Return a character of each class that the automata tell apart, nice ones first."""
    cuts = {0}
    for automaton in automata:
        for steps in automaton.steps:
            for ranges, _ in steps:
                for low, high in ranges:
                    cuts |= {low, high + 1}
    starts = sorted(cut for cut in cuts if cut <= _LAST)
    characters = []
    for low, end in zip(starts, [*starts[1:], _LAST + 1], strict=True):
        nice = next((ord(letter) for letter in _NICE if low <= ord(letter) < end), None)
        printable = next((code for code in range(max(low, 33), min(end, 127))), low)
        characters.append(printable if nice is None else nice)
    order = {ord(letter): number for number, letter in enumerate(_NICE)}
    return sorted(characters, key=lambda code: (order.get(code, 99), not 33 <= code < 127, code))
