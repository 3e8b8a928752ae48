"""Work mapped over tasks, in worker processes where that helps; they load when they start."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def can_fork() -> bool:
    """Return whether workers can be started: a fork of a process with several threads may hang."""
    return hasattr(os, "fork") and threading.active_count() == 1


def in_order(jobs: int, work: Callable[[T], R], tasks: Iterable[T]) -> Generator[R]:
    """Yield the answer to each task in their order; with one job, or where workers cannot be
    started, without any. Raise what the work raises, and ChartkitError for a task at which two
    workers were ended."""
    if jobs < 2 or not can_fork():
        yield from map(work, tasks)
        return
    from chartkit.scan.parallel.workers import Pool

    with Pool(jobs, work) as pool:
        yield from pool.map(tasks)
