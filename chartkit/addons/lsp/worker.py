"""The thread that checks files and answers requests, one after another, requests first."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from queue import PriorityQueue
from threading import Thread
from typing import TypeVar

import click

from chartkit.addons.lsp.judging import CancelledError
from chartkit.errors import ChartkitError, contained
from chartkit.safe_text import shown

T = TypeVar("T")
REQUEST, CHECK = range(2)


class Worker:
    """One thread: what it works with needs no locks. A job that fails ends no other."""

    def __init__(self) -> None:
        self._jobs: PriorityQueue[tuple[int, int, Callable[[], None]]] = PriorityQueue()
        self._numbers = count()
        Thread(target=self._work, name="checks", daemon=True).start()

    def submit(self, rank: int, job: Callable[[], T], otherwise: T) -> Future[T]:
        """Have a job done. rank: `REQUEST` or `CHECK`; otherwise: the answer if it fails."""
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                future.set_result(answered(job, otherwise))

        self._jobs.put((rank, next(self._numbers), run))
        return future

    def _work(self) -> None:
        while True:
            self._jobs.get()[2]()


def answered(job: Callable[[], T], otherwise: T) -> T:
    """Return the answer of a job, or another one where it fails, and write a bug to stderr."""

    def failed(error: Exception, message: str) -> T:
        if not isinstance(error, ChartkitError | CancelledError):
            click.echo(f"chartkit lsp: {shown(message)}", err=True)
        return otherwise

    return contained(job, failed)
