"""Work mapped over tasks, in worker processes where that helps; they load when they start."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TypeVar

from chartkit.model import Location, Spread

T = TypeVar("T")
R = TypeVar("R")


def can_fork() -> bool:
    """Report whether workers can be started: a fork of a process with several threads may hang."""
    return hasattr(os, "fork") and threading.active_count() == 1


def in_order(
    jobs: int,
    work: Callable[[T], R],
    tasks: Iterable[T],
    name: Callable[[T], tuple[str, Location | None]] = lambda task: (str(task), None),
    close: Callable[[], None] | None = None,
) -> Generator[R]:
    """Yield the answer to each task in their order; with one job, or where workers cannot be
    started, without any.

    name: what a task is called in messages, and its place; close: ends what processes cannot share,
    such as Helm, before workers start and in each at its end. Raise what the work raises, and
    ChartkitError for a task at which two workers were ended.
    """
    if jobs < 2 or not can_fork():
        yield from map(work, tasks)
        return
    from chartkit.scan.parallel.workers import Pool

    if close is not None:
        close()
    with Pool(jobs, work, name, close) as pool:
        yield from pool.map(tasks)


def spread(jobs: int, least: int, close: Callable[[], None] | None = None) -> Spread:
    """Return what spreads work over processes; least: the items from which a second process is
    worth its start; close: as `in_order` has it."""

    def spreading(work: Callable[[T], R], items: Sequence[T], /) -> Iterable[R]:
        most = min(jobs, len(items)) if len(items) >= least else 1
        return in_order(most, work, items, close=close)

    return spreading
