"""Parts judged by the workers of a Dask cluster (extra `chartkit[dask]`).

The workers need chartkit in the same version, and none of the files: parts come with their bytes.
Dask gives the work of a worker that ends to another one.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any, Final

from chartkit.errors import ExecutorError, InputError, extra

if TYPE_CHECKING:
    from chartkit.scan.parallel.partition import Part
    from chartkit.scan.parallel.recipe import Recipe
    from chartkit.scan.parallel.streaming import Answer

SCHEME: Final = "dask://"
_TIMEOUT: Final = 10
"""The seconds within which a scheduler answers."""
_WAITING: Final = 4
"""The parts for each thread of the workers that are given out, or answered and not yet taken."""


def scheduler_address(text: str) -> str:
    """Return the address of the scheduler of `dask://HOST:PORT`, as Dask writes it; raise
    InputError."""
    host, colon, port = text.removeprefix(SCHEME).rpartition(":")
    if not text.startswith(SCHEME) or not (host and colon and port.isdecimal()):
        raise InputError(f"--executor '{text}' is not valid", hint="write dask://HOST:PORT")
    return f"tcp://{host}:{port}"


def judged_by_dask(address: str, recipe: Recipe, parts: Iterable[Part]) -> Generator[Answer]:
    """Yield the answer to each part in their order. Raise ExecutorError for a scheduler that does
    not answer or has no workers, and what a part raises."""
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
    except OSError as error:
        reason = " ".join(str(error).split())
        raise ExecutorError(f"Dask's scheduler does not answer: {reason}") from None
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            hint = "start some: dask worker HOST:PORT"
            raise ExecutorError(f"Dask's scheduler at {address} has no workers", hint=hint)
        yield from _answers(client, recipe, parts, threads * _WAITING)


def _answers(client: Any, recipe: Recipe, parts: Iterable[Part], most: int) -> Generator[Answer]:
    # On the workers this module is imported: nothing of it is sent.
    from chartkit.scan.parallel.recipe import judge_part

    distributed = _distributed()
    sent = client.scatter(pickle.dumps(recipe, pickle.HIGHEST_PROTOCOL), broadcast=True, hash=False)
    waiting: deque[tuple[Part, Any]] = deque()

    def taken() -> Answer:
        part, future = waiting.popleft()
        try:
            answer: Answer = future.result()
        except distributed.KilledWorker:
            message = f"workers ended again and again at {part}"
            raise ExecutorError(message, hint="give them more memory") from None
        except distributed.CancelledError:
            raise ExecutorError("Dask's scheduler has gone") from None
        return answer

    for part in parts:
        waiting.append((part, client.submit(judge_part, sent, part.loaded(), pure=False)))
        if len(waiting) >= most:
            yield taken()
    while waiting:
        yield taken()


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        hint = extra("dask")
        raise ExecutorError("--executor needs Dask, which is not installed", hint=hint) from None
    return distributed
