"""Texts that wildcards and regular expressions take together: products of small automata.

A language is a wildcard of Kyverno's or a regular expression of RE2, wanted or not. What the
expressions here do not know (assertions inside, classes of Unicode) is not a regular language.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from chartkit.engine.scalars.wildcard import regular_expression

_parser: Final[Any] = importlib.import_module("re._parser")
_MOST_STATES: Final = 4_000
"""The most states of a product: what has more is not decided."""
_MOST_LANGUAGES: Final = 40
_MOST_KNOWN: Final = 10_000
_MOST_COPIES: Final = 300
_LAST: Final = 0x10FFFF
_START: Final = -1
_END: Final = -2
"""The marks before and behind each text, which `^` and `$` take."""
_NICE: Final = "axz019-/.:_"
"""Characters that examples have where several would do, best first."""

Ranges = tuple[tuple[int, int], ...]
_ANY: Final[Ranges] = ((0, _LAST),)
_LINE: Final[Ranges] = ((0, 9), (11, _LAST))
_ANCHORS: Final[dict[str, Ranges]] = {
    "AT_BEGINNING": ((_START, _START),),
    "AT_END": ((_END, _END),),
}
_CLASSES: Final[dict[str, Ranges]] = {
    "DIGIT": ((48, 57),),
    "WORD": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "SPACE": ((9, 10), (12, 13), (32, 32)),
}
"""RE2's classes, which have characters of ASCII alone."""
_FLAGS: Final = re.UNICODE | re.DOTALL
_OTHER_MEANING: Final = ("{,", "[:")
"""Parts that RE2 reads in another way than Python."""


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
    need no character; final: the last state; state 0 is the first; any: the characters of a `.`;
    copies: of parts that are repeated; known: where characters lead to from sets of states."""

    steps: list[list[tuple[Ranges, int]]] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    final: int = 0
    any: Ranges = _LINE
    copies: int = 0
    known: dict[tuple[frozenset[int], int], frozenset[int]] = field(default_factory=dict)

    def state(self) -> int:
        if len(self.steps) > _MOST_STATES:
            raise TooLargeError
        self.steps.append([])
        self.free.append([])
        return len(self.steps) - 1

    def step(self, start: int, ranges: Ranges) -> int:
        """Return a new state that characters lead to."""
        end = self.state()
        self.steps[start].append((ranges, end))
        return end

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

    def built(self, parts: Iterable[tuple[Any, Any]], at: int) -> int:
        """Return the state behind the parts of a regular expression, as Python parses it."""
        for operation, value in parts:
            match operation.name:
                case "LITERAL":
                    at = self.step(at, ((value, value),))
                case "NOT_LITERAL":
                    at = self.step(at, _others(((value, value),)))
                case "ANY":
                    at = self.step(at, self.any)
                case "IN":
                    at = self.step(at, _members(value))
                case "AT" if value.name in _ANCHORS:
                    at = self.step(at, _ANCHORS[value.name])
                case "SUBPATTERN" if not (value[1] or value[2]):
                    at = self.built(value[3], at)
                case "BRANCH":
                    ends = [self.built(choice, at) for choice in value[1]]
                    at = self.state()
                    for end in ends:
                        self.free[end].append(at)
                case "MAX_REPEAT" | "MIN_REPEAT":
                    least, most, body = value
                    is_endless = most == _parser.MAXREPEAT
                    count = least + 1 if is_endless else int(most)
                    self.copies += count
                    if self.copies > _MOST_COPIES:
                        raise TooLargeError
                    begin, end = self.state(), self.state()
                    self.free[at].append(begin)
                    for number in range(count):
                        if number >= least:
                            self.free[begin].append(end)
                        following = self.state()
                        self.free[self.built(body, begin)].append(following)
                        if is_endless and number >= least:
                            self.free[following].append(begin)
                        begin = following
                    self.free[begin].append(end)
                    at = end
                case _:
                    raise UnreadableError
        return at


def _members(parts: Iterable[tuple[Any, Any]]) -> Ranges:
    """Return the characters of a bracket."""
    members: list[tuple[int, int]] = []
    is_negated = False
    for operation, value in parts:
        match operation.name:
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                members.append((value, value))
            case "RANGE":
                members.append(value)
            case _:
                name = value.name.removeprefix("CATEGORY_")
                ranges = _CLASSES[name.removeprefix("NOT_")]
                members += _others(ranges) if name.startswith("NOT_") else ranges
    return _others(tuple(members)) if is_negated else tuple(members)


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
def _compiled(pattern: str, is_regex: bool) -> _Automaton:
    """Return the automaton of a pattern, for texts between their marks."""
    automaton = _Automaton()
    first = automaton.state()
    inside = automaton.step(first, _ANCHORS["AT_BEGINNING"])
    if is_regex:
        if any(part in pattern for part in _OTHER_MEANING):
            raise UnreadableError
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                parsed = _parser.parse(pattern)
            except (re.error, Warning, OverflowError):
                raise UnreadableError from None
        if parsed.state.flags & ~_FLAGS:
            raise UnreadableError
        automaton.any = _ANY if parsed.state.flags & re.DOTALL else _LINE
        # Any text is before a match, or nothing, so that the expression can take the mark itself.
        begin = automaton.state()
        automaton.free[first].append(begin)
        automaton.free[inside].append(begin)
        automaton.steps[inside].append((_ANY, inside))
        end = automaton.built(parsed, begin)
        behind, automaton.final = automaton.state(), automaton.state()
        automaton.free[end] += (behind, automaton.final)
        automaton.steps[behind].append((_ANY, behind))
        automaton.steps[behind].append((_ANCHORS["AT_END"], automaton.final))
        return automaton
    for character in pattern:
        if character == "*":
            automaton.steps[inside].append((_ANY, inside))
        else:
            ranges = _ANY if character == "?" else ((ord(character), ord(character)),)
            inside = automaton.step(inside, ranges)
    automaton.final = automaton.step(inside, _ANCHORS["AT_END"])
    return automaton


def is_readable(pattern: str) -> bool:
    """Report whether a regular expression is one that is known here."""
    try:
        _compiled(pattern, True)
    except (UnreadableError, TooLargeError, RecursionError):
        return False
    return True


def shortest(languages: Sequence[Language]) -> str | None:
    """Return a shortest text that is in all the languages; None if no text is. Raises TooLargeError
    where that is not found within a bounded number of states."""
    text = _shortest(tuple(dict.fromkeys(languages)))
    if isinstance(text, TooLargeError):
        raise text
    return text


@lru_cache(maxsize=1024)
def _shortest(languages: tuple[Language, ...]) -> str | TooLargeError | None:
    if len(languages) > _MOST_LANGUAGES:
        return TooLargeError()
    try:
        parts = [(_compiled(own.pattern, own.is_regex), own.wanted) for own in languages]
    except (TooLargeError, UnreadableError, RecursionError):
        return TooLargeError()
    alphabet = _alphabet([automaton for automaton, _ in parts])
    if len(alphabet) * len(languages) > _MOST_LANGUAGES * _MOST_LANGUAGES:
        return TooLargeError()
    first = tuple(automaton.after(automaton.closure((0,)), _START) for automaton, _ in parts)
    seen = {first}
    waiting = deque([(first, "")])
    while waiting:
        states, text = waiting.popleft()
        if all(
            (automaton.final in automaton.after(reached, _END)) is wanted
            for (automaton, wanted), reached in zip(parts, states, strict=True)
        ):
            return text
        for character in alphabet:
            after = tuple(
                automaton.after(reached, character)
                for (automaton, _), reached in zip(parts, states, strict=True)
            )
            is_dead = any(
                wanted and not reached for (_, wanted), reached in zip(parts, after, strict=True)
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
    starts = sorted(cut for cut in cuts if 0 <= cut <= _LAST)
    characters = []
    for low, end in zip(starts, [*starts[1:], _LAST + 1], strict=True):
        nice = next((ord(letter) for letter in _NICE if low <= ord(letter) < end), None)
        printable = next((code for code in range(max(low, 33), min(end, 127))), low)
        characters.append(printable if nice is None else nice)
    order = {ord(letter): number for number, letter in enumerate(_NICE)}
    return sorted(characters, key=lambda code: (order.get(code, 99), not 33 <= code < 127, code))
