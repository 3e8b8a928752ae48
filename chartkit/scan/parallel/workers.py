"""A pool of worker processes: tasks one by one in, answers in the order of the tasks out.

A worker is a fork of this process, so that it has all that is compiled already. Each has a pipe of
its own: it gets the next task when it answers, and its end shows as the end of the pipe. What a
worker had not answered when it ended is done again, once, by a new one.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Final, Generic, NoReturn, TypeVar

from chartkit.errors import Bugs, ChartkitError
from chartkit.model import Location

T = TypeVar("T")
R = TypeVar("R")

_AHEAD: Final = 2
"""The tasks that a worker has at a time: it need not wait for the next one."""
_WAITING: Final = 4
"""The tasks for each worker that are given out, or answered and not yet taken."""
_ATTEMPTS: Final = 2
_ENDING: Final = (signal.SIGINT, signal.SIGTERM)
_HINT: Final = "the system ends what takes too much memory: use fewer --jobs"


@dataclass(slots=True, eq=False)
class _Worker(Generic[T]):
    """A worker process; given: the numbers of its tasks, the one that it does first."""

    process: int
    pipe: Connection[Any, Any]
    given: deque[int] = field(default_factory=deque)


@dataclass(slots=True)
class _Task(Generic[T]):
    content: T
    attempts: int = 0


class Pool(Generic[T, R]):
    """Worker processes that do one kind of work; at its end none is left."""

    def __init__(
        self,
        jobs: int,
        work: Callable[[T], R],
        name: Callable[[T], tuple[str, Location | None]] = lambda task: (str(task), None),
        close: Callable[[], None] | None = None,
    ) -> None:
        """name: what a task is called in messages, and its place; close: called in each worker at
        its end."""
        self._jobs = jobs
        self._work = work
        self._name = name
        self._close = close
        self._workers: list[_Worker[T]] = []
        self._tasks: dict[int, _Task[T]] = {}
        self._answers: dict[int, tuple[bool, Any]] = {}

    def __enter__(self) -> Pool[T, R]:
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        self.end(is_done=kind is None)

    @property
    def processes(self) -> list[int]:
        """The IDs of the workers."""
        return [worker.process for worker in self._workers]

    def map(self, tasks: Iterable[T]) -> Iterator[R]:
        """Yield the answer to each task in their order."""
        source = enumerate(tasks)
        following = next(source, None)
        taken = 0
        while True:
            while following is not None and following[0] - taken < self._jobs * _WAITING:
                worker = self._idle()
                if worker is None:
                    break
                number, content = following
                self._tasks[number] = _Task(content)
                self._give(worker, number)
                following = next(source, None)
            if taken in self._answers:
                is_answer, content = self._answers.pop(taken)
                del self._tasks[taken]
                if not is_answer:
                    raise content
                yield content
                taken += 1
            elif not self._tasks:
                return
            else:
                # Take the answers of workers, and replace those that ended.
                by_pipe = {worker.pipe: worker for worker in self._workers}
                for pipe in wait(list(by_pipe)):
                    worker = by_pipe[pipe]  # type: ignore[index]
                    try:
                        answer = worker.pipe.recv()
                    except (EOFError, ConnectionResetError):
                        self._replace(worker)
                    else:
                        self._answers[worker.given.popleft()] = answer

    def end(self, is_done: bool = False) -> None:
        """End all workers: at once, or where all is done as they end by themselves."""
        for worker in self._workers:
            worker.pipe.close()
            if not is_done:
                with suppress(ProcessLookupError):
                    os.kill(worker.process, signal.SIGKILL)
        for worker in self._workers:
            _reap(worker.process)
        self._workers.clear()

    def _idle(self) -> _Worker[T] | None:
        """Return the worker with the fewest tasks, or a new one; None where all have enough."""
        free = min(self._workers, key=lambda worker: len(worker.given), default=None)
        if free is not None and not free.given:
            return free
        if len(self._workers) < self._jobs:
            return self._start()
        return free if free is not None and len(free.given) < _AHEAD else None

    def _give(self, worker: _Worker[T], number: int) -> None:
        worker.given.append(number)
        # A worker that has ended shows when its answer is awaited.
        with suppress(BrokenPipeError, ConnectionResetError):
            worker.pipe.send(self._tasks[number].content)

    def _replace(self, ended: _Worker[T]) -> None:
        """Give an ended worker's tasks to a new one; its current one gets no third try."""
        self._workers.remove(ended)
        ended.pipe.close()
        status = _reap(ended.process)
        if not ended.given:
            return
        task = self._tasks[ended.given[0]]
        task.attempts += 1
        if task.attempts == _ATTEMPTS:
            name, location = self._name(task.content)
            code = os.waitstatus_to_exitcode(status)
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            end_of = f"was ended from outside ({how})"
            message = f"the process at {name} {end_of}, and so was a second one"
            error = ChartkitError(message, location, _HINT)
            self._answers[ended.given.popleft()] = False, error
        if ended.given:
            new = self._start()
            for number in ended.given:
                self._give(new, number)

    def _start(self) -> _Worker[T]:
        ours, theirs = Pipe()
        # Objects that exist already are not traced again, so that their pages are not copied.
        gc.freeze()
        # A signal must reach the new process in its own loop, not in a copy of this one's.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        process = os.fork()
        if not process:
            others = [other.pipe for other in self._workers]
            _serve(theirs, [ours, *others], self._work, self._close)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        gc.unfreeze()
        theirs.close()
        worker: _Worker[T] = _Worker(process, ours)
        self._workers.append(worker)
        return worker


def _serve(
    pipe: Connection[Any, Any],
    inherited: list[Any],
    work: Callable[[Any], Any],
    close: Callable[[], None] | None,
) -> NoReturn:
    """Answer tasks until the pipe ends; the process does not come back from here."""
    code = 1
    try:
        # Its copy of what the first process has not written yet is never written: neither is that
        # flushed before a fork, where a signal would cut it short.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # Ctrl-C goes to all processes of a terminal; the first of them decides.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        for pipe_ in inherited:
            pipe_.close()
        while True:
            try:
                task = pipe.recv()
            except EOFError:
                break
            pipe.send_bytes(_answer(work, task))
        if close is not None:
            close()
        code = 0
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        os._exit(code)
    raise AssertionError


def _answer(work: Callable[[Any], Any], task: Any) -> bytes:
    """Return the pickled answer to a task, or the error that it ended with."""
    try:
        with Bugs():
            return pickle.dumps((True, work(task)), pickle.HIGHEST_PROTOCOL)
    except (ChartkitError, OSError) as error:
        return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)


def _reap(process: int) -> int:
    with suppress(ChildProcessError):
        return os.waitpid(process, 0)[1]
    return 0
