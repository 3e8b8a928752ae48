"""Parts judged by the workers of a Dask cluster (extra `chartkit[dask]`).

The workers need chartkit in the same version, and none of the files: parts come with their bytes.
Dask gives the work of a worker that ends to another one. Compiled policies are functions, which no
process can send: what they were compiled from is sent in their place (`Recipe`), and compiled once
in each process.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

from chartkit import __version__
from chartkit.engine import User, read_exceptions
from chartkit.errors import ExecutorError, InputError, extra
from chartkit.model import Resource
from chartkit.scan.gate.selection import PolicyTraits, Selection
from chartkit.scan.parallel.partition import Part
from chartkit.scan.parallel.reported import Reports, Shown
from chartkit.scan.parallel.streaming import Answer, PartJudge
from chartkit.scan.policies import compile_all
from chartkit.scan.reporting import ReportRecipe
from chartkit.scan.requests import Requests
from chartkit.scan.run import uncompleted
from chartkit.scan.user_inputs import UserInputs

_KEPT: Final = 4
_LOCK: Final = threading.Lock()
SCHEME: Final = "dask://"
_TIMEOUT: Final = 10
"""The seconds within which a scheduler answers."""
_WAITING: Final = 4
"""The parts for each thread of the workers that are given out, or answered and not yet taken."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The needs of a process that judges parts.

    policies, exceptions: as written; running: the IDs of the policies that run; shared: objects
    that others depend on; judging: the policies that judge, by kind, namespace and name; reports:
    those of which the process writes parts, None where the client writes all; minor: the version of
    Kubernetes that the objects are for; version: of the program that made it.
    """

    policies: Sequence[Resource]
    exceptions: Sequence[Resource]
    running: frozenset[str]
    shared: Sequence[Resource]
    selection: Selection
    judging: frozenset[tuple[str, str, str]]
    user: User | None
    audit_warn: bool
    allows_http: bool
    reports: ReportRecipe | None
    minor: int
    version: str = __version__

    def judge(self) -> PartJudge:
        """Return the judgement; raise ExecutorError where this is another program."""
        if self.version != __version__:
            hint = "install the same version of chartkit on all workers"
            message = f"a worker has chartkit {__version__}, not {self.version}"
            raise ExecutorError(message, hint=hint)
        around = replace(read_exceptions(self.exceptions), allows_http=self.allows_http)
        policies = compile_all(self.policies, around)
        requests = Requests.of(policies, self.shared, UserInputs(user=self.user))
        # Policies that need other objects are judged by no worker.
        requests = requests._replace(objects=())

        def looks_at(resource: Resource) -> bool:
            select, where = self.selection, (resource.kind, resource.namespace)
            return not select or select.has_object(resource.api_version, *where)

        return PartJudge(
            [policy for policy in requests.policies.policies if policy.policy.id in self.running],
            replace(requests.context(requests.world()), audit_warn=self.audit_warn),
            looks_at,
            bool(self.exceptions),
            self.judging,
            uncompleted if self.reports is None else requests.completion(),
            Shown(),
            None if self.reports is None else cache(partial(self._reports, self.reports, requests)),
            self.minor,
        )

    @staticmethod
    def _reports(recipe: ReportRecipe, requests: Requests) -> Reports:
        facts = recipe.guided(requests.facts())
        return recipe.begin(PolicyTraits(requests.policies.policies, facts), facts)


_judges: dict[str, PartJudge] = {}


def judge_part(recipe: bytes, part: Part) -> Answer:
    """Return the answer to a part; recipe: pickled. The policies are compiled once for many parts,
    which follow one another where a process has several threads."""
    key = hashlib.sha256(recipe).hexdigest()
    with _LOCK:
        if key not in _judges:
            while len(_judges) >= _KEPT:
                del _judges[next(iter(_judges))]
            read: Recipe = pickle.loads(recipe)  # noqa: S301 - of the client, by the executor
            _judges[key] = read.judge()
        return _judges[key](part)


def scheduler_address(text: str) -> str:
    """The address of the scheduler of `dask://HOST:PORT`, as Dask writes it; raises InputError."""
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
