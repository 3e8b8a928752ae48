"""The judgement of parts as data, for processes that are no forks of this one: other machines.

Compiled policies are functions, which no process can send. What they were compiled from is sent in
their place, and compiled once in each process.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Final

from chartkit import __version__
from chartkit.engine import User, read_exceptions
from chartkit.errors import ExecutorError
from chartkit.model import Resource
from chartkit.scan.environment import uncompleted
from chartkit.scan.gate.selection import PolicyTraits, Selection
from chartkit.scan.parallel.partition import Part
from chartkit.scan.parallel.reported import Reports, Shown
from chartkit.scan.parallel.streaming import Answer, PartJudge
from chartkit.scan.policies import compile_all
from chartkit.scan.reporting import ReportRecipe
from chartkit.scan.requests import Requests
from chartkit.scan.user_inputs import UserInputs

_KEPT: Final = 4
_LOCK: Final = threading.Lock()


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
            raise ExecutorError(
                f"a worker has chartkit {__version__}, not {self.version}", hint=hint
            )
        around = replace(read_exceptions(self.exceptions), allows_http=self.allows_http)
        policies = compile_all(self.policies, around)
        requests = Requests.of(policies, self.shared, UserInputs(user=self.user))
        # Policies that need other objects are judged by no worker.
        requests = replace(requests, objects=())

        def looks_at(resource: Resource) -> bool:
            select, place = self.selection, (resource.kind, resource.namespace)
            return not select or select.has_object(resource.api_version, *place)

        return PartJudge(
            [each for each in requests.policies.policies if each.policy.id in self.running],
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
    """Return what a part comes to; recipe: pickled. The policies are compiled once for many parts,
    which follow one another where a process has several threads."""
    key = hashlib.sha256(recipe).hexdigest()
    with _LOCK:
        if key not in _judges:
            while len(_judges) >= _KEPT:
                del _judges[next(iter(_judges))]
            read: Recipe = pickle.loads(recipe)  # noqa: S301 - of the client, by the executor
            _judges[key] = read.judge()
        return _judges[key](part)
