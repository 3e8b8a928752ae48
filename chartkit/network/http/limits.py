"""Limits of time, attempts and redirects of requests, work that is kept within them, and the memory
of outcomes by which nothing is asked twice."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from chartkit.errors import ChartkitError

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")
_FIRST: Final = 0.01
_FACTOR: Final = 5
_LONGEST: Final = 2.0
"""Seconds; a pause that would be longer ends the attempts."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request.

    connect: seconds until a connection is made; silence: seconds that a server may say nothing;
    patience: seconds for one whole answer, redirects included; attempts: how often a server is
    asked; pause: seconds before the second attempt, doubled for each further one; longest_pause:
    the longest that a server may ask to be left alone; redirects: how many are followed.
    """

    connect: float = 10.0
    silence: float = 10.0
    patience: float = 30.0
    attempts: int = 3
    pause: float = 0.5
    longest_pause: float = 20.0
    redirects: int = 5


def pauses(tries: int) -> Iterator[float]:
    """Yield the seconds to wait before each further attempt, as Kubernetes' client does by default
    (`retry.DefaultBackoff`); fewer, where a pause would be long."""
    pause = _FIRST
    for _ in range(tries - 1):
        if pause > _LONGEST:
            return
        yield pause
        pause *= _FACTOR


def within(seconds: float, work: Callable[[], Found]) -> Found:
    """Return what the work gives, if it does in time; raises TimeoutError.

    A server that sends a byte now and then keeps every single read alive, and a name server may
    take its time: only another thread can be left behind. What the work raises is printed on
    standard error and is a RuntimeError here, so it gives its own failures as values.
    """
    results: list[Found] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    if not done.wait(seconds):
        raise TimeoutError(f"not done in {seconds:g} seconds")
    if not results:
        raise RuntimeError("the work ended without a word")
    return results[0]


class Memory(Generic[Key, Found]):
    """Outcomes by key, failures included. The least recently used ones are forgotten first, but
    never the last one."""

    __slots__ = ("_known", "_left", "_size")

    def __init__(
        self,
        room: float = math.inf,
        size: Callable[[Key, Found | ChartkitError], int] = lambda _key, _outcome: 1,
    ) -> None:
        """Create an empty memory. room: the sum of the sizes that are kept; size: of a key with its
        outcome, 1 for each by default."""
        self._known: OrderedDict[Key, Found | ChartkitError] = OrderedDict()
        self._left = room
        self._size = size

    def once(self, key: Key, find: Callable[[], Found]) -> Found:
        """Return the outcome for a key, found now or before; raises what `find` raised."""
        if key not in self._known:
            try:
                self.put(key, find())
            except ChartkitError as error:
                self.put(key, error)
        self._known.move_to_end(key)
        outcome = self._known[key]
        if isinstance(outcome, ChartkitError):
            raise outcome.with_traceback(None)
        return outcome

    def get(self, key: Key) -> Found | None:
        """Return the value of a key; None without one."""
        if key not in self._known:
            return None
        self._known.move_to_end(key)
        outcome = self._known[key]
        return None if isinstance(outcome, ChartkitError) else outcome

    def put(self, key: Key, outcome: Found | ChartkitError) -> None:
        """Remember an outcome in place of an earlier one."""
        if key in self._known:
            self._left += self._size(key, self._known.pop(key))
        self._known[key] = outcome
        self._left -= self._size(key, outcome)
        while self._left < 0 and len(self._known) > 1:
            self._left += self._size(*self._known.popitem(last=False))
