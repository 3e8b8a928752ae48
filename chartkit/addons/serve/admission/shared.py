"""Findings that reviews share: objects that are equal in all that policies read of them are judged
once.

Controllers make most objects of a cluster, and these differ only in fields that no policy reads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from chartkit.addons.serve.admission.findings import Evaluated, Findings
from chartkit.engine import Phase, Request, RunnablePolicy, World
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.engine.reads import Course
from chartkit.engine.request import Run
from chartkit.engine.verdicts import Sharing, Space, is_shareable, judged, place_of
from chartkit.model import RuleResult

_MOST_KINDS = 256


class Shared:
    """Policies that validate, and what they found. Several threads may use it."""

    __slots__ = ("_kinds", "_policies", "_space")

    def __init__(self, policies: Sequence[RunnablePolicy]) -> None:
        self._policies = policies
        self._space = Space()
        self._kinds: dict[Hashable, Sharing[Findings]] = {}

    def findings(
        self, request: Request, world: World, policies: Iterable[RunnablePolicy]
    ) -> Findings:
        """Return what the policies find, or found for an equal review."""
        sharing = self._sharing(request)
        is_ready = sharing is not None and sharing.is_ready()
        place = (_asker(request), request.review and (*request.review,), place_of(request))
        whole = sharing.whole(request, place) if sharing is not None and is_ready else None
        if whole is not None:
            return whole
        clock = time.perf_counter
        run = Run(request, world)
        found: list[Evaluated] = []
        courses: list[Course] = []
        for number, policy in enumerate(policies):
            begun = clock()
            shared = sharing.verdicts.get(number) if sharing is not None and is_ready else None
            if shared is None:
                results: list[RuleResult] = []
                policy.run_phase(run, Phase.VALIDATE, results)
            else:
                verdict, course = judged(policy, request, world, shared, place)
                results = list(verdict)
                courses += () if course is None else (course,)
            if results:
                found.append(Evaluated(policy, results, clock() - begun))
        if sharing is not None and is_ready and sharing.is_all:
            untimed = tuple(replace(each, seconds=0.0) for each in found)
            sharing.keep(courses, request, place, Findings(untimed, is_shared=True))
        return Findings(found)

    def _sharing(self, request: Request) -> Sharing[Findings] | None:
        """Return what reviews like this one share; None for nothing."""
        if not is_shareable(request):
            return None
        resource = request.resource
        key = (request.kind or kind_of(resource), request.plural, bool(resource.namespace))
        found = self._kinds.get(key)
        if found is None and len(self._kinds) < _MOST_KINDS:
            found = self._kinds[key] = Sharing(self._policies, self._space)
        return found


def _asker(request: Request) -> Hashable:
    user = request.user
    if user is None:
        return None
    extra = json.dumps(user.extra, sort_keys=True) if user.extra else ""
    return user.name, user.uid, user.groups, extra, user.roles, user.cluster_roles
