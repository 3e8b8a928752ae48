"""Work that may never end, left behind when its time is over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def within(seconds: float, work: Callable[[], Found]) -> Found:
    """What the work gives, if it does in time; raises TimeoutError.

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
