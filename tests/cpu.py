"""A bound on work that must end soon, in the processor's time.

Work made to hang takes for ever where its guard is missing. The clock on the wall would fail a
machine that stands still or has others to serve; the time that the process itself computes does
not, and the bound is many times what is needed.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_SECONDS: Final = 60


@contextmanager
def ends_soon() -> Iterator[None]:
    """Fails, and ends what goes on, once the block has computed for a minute."""

    def over(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"computes for more than {_SECONDS} seconds")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
