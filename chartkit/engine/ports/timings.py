"""The time that policies, rules and context entries take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter_ns
from typing import NamedTuple, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Timing:
    """The time of one thing. count: how often it ran; nanoseconds: of all runs together."""

    count: int = 0
    nanoseconds: int = 0


class TimedPart(NamedTuple):
    """A policy (by its ID), a rule of it or a context entry of that; both may be empty."""

    policy: str
    rule: str = ""
    entry: str = ""


class Timings:
    """Measures what runs: the time of an entry is part of the time of its rule."""

    def __init__(self, clock: Callable[[], int] = perf_counter_ns) -> None:
        """clock: gives nanoseconds."""
        self._clock = clock
        self._found: dict[TimedPart, Timing] = {}
        self._rule = TimedPart("")

    def rule(self, policy: str, rule: str, run: Callable[[], T]) -> T:
        """Return the result of a rule's run; rule: empty for a policy without rules."""
        self._rule = TimedPart(policy, rule)
        return self._timed(self._rule, run)

    def entry(self, name: str, load: Callable[[], T]) -> T:
        """Return the result of loading a context entry of the running rule."""
        return self._timed(TimedPart(self._rule.policy, self._rule.rule, name), load)

    def __iter__(self) -> Iterator[tuple[TimedPart, Timing]]:
        """Yield the parts in the order in which they first ran."""
        return iter(self._found.items())

    def _timed(self, part: TimedPart, run: Callable[[], T]) -> T:
        timing = self._found.setdefault(part, Timing())
        started = self._clock()
        try:
            return run()
        finally:
            timing.nanoseconds += self._clock() - started
            timing.count += 1
