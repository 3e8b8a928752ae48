"""Work that may never end, left behind when its time is over; and pauses between attempts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

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
    take its time: only another thread can be left behind. What the work raises is told on standard
    error and is a RuntimeError here, so it gives its own failures as values.
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
