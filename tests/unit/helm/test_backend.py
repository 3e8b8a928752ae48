"""The Helm that a process has."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from chartkit.helm import backend


class _Door:
    def close(self) -> None:
        """Ends nothing."""


def test_threads_that_ask_at_once_share_one_helm(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[_Door] = []

    def connect(_limits: object) -> _Door:
        time.sleep(0.01)  # Long enough for the other threads to ask.
        made.append(_Door())
        return made[-1]

    backend.close()
    monkeypatch.setattr(backend, "connect", connect)
    both = threading.Barrier(4)

    def asked() -> object:
        both.wait(10)
        return backend.helm()

    try:
        with ThreadPoolExecutor(4) as threads:
            doors = {each.result(10) for each in [threads.submit(asked) for _ in range(4)]}
    finally:
        backend.close()
    assert doors == set(made)
    assert len(made) == 1
