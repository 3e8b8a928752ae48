"""Ctrl-C and SIGTERM during a scan: they end its work, and what was found is still reported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from chartkit.errors import TerminatedError

_CODES: Final = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: TerminatedError}


class Interrupts:
    """A block that Ctrl-C and SIGTERM end at once, but for the steps that are written whole.

    cause: what ended it, None as long as nothing did. A second one ends the process as ever.
    """

    def __init__(self) -> None:
        self.cause: KeyboardInterrupt | None = None
        self.exit_code = 0
        """128 and the number of the signal, as shells count."""
        self._is_shielded = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in _CODES:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._interrupt)
        return self

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> bool:
        for number, before in self._before.items():
            signal.signal(number, before)
        return error is not None and error is self.cause

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)
        self.cause = _CODES[signal.Signals(number)]()
        self.exit_code = 128 + number
        if not self._is_shielded:
            raise self.cause

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Give a block that is carried out whole; what came meanwhile ends the block around it."""
        self._is_shielded = True
        try:
            yield
        finally:
            self._is_shielded = False
        if self.cause is not None:
            raise self.cause
