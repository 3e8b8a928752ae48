"""Limits of time, attempts and redirects of requests, and work that is kept within them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar


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


Found = TypeVar("Found")


_FIRST: Final = 0.01
_FACTOR: Final = 5
_LONGEST: Final = 2.0
"""Seconds; a pause that would be longer ends the attempts."""


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
    found: list[Found] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    if not done.wait(seconds):
        raise TimeoutError(f"not done in {seconds:g} seconds")
    if not found:
        raise RuntimeError("the work ended without a word")
    return found[0]
