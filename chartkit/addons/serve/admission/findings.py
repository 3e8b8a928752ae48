"""The findings of policies in a review, and the decision that follows from them.

Reviews that are equal in all that policies read share both: only the name of the object in a
denial is each review's own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.serve.admission import denials
from chartkit.addons.serve.admission.review import Answer
from chartkit.addons.serve.admission.served_policies import FAIL, is_cel
from chartkit.engine import ENFORCE, Phase, Request, RunnablePolicy, World
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.kubernetes.kinds import kind_of
from chartkit.engine.reads import Course
from chartkit.engine.request import Run
from chartkit.engine.verdicts import Sharing, Space, is_shareable, judged, place_of
from chartkit.model import Resource, RuleResult, Status

ALLOWED: Final = Answer(allowed=True)
DENY: Final = "Deny"
WARN: Final = "Warn"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The results of one policy, and the seconds that they took: none for those of an equal
    review."""

    policy: RunnablePolicy
    results: Sequence[RuleResult]
    seconds: float


@dataclass(slots=True, eq=False)
class Findings:
    """The results of policies, each of which a rule matched. is_shared: whether they are those of
    an equal review; decision: what they decide, once it is known."""

    evaluated: Sequence[Evaluated]
    is_shared: bool = False
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of validating policies about an object. failures: of ClusterPolicies that
    refuse, as YAML, empty where none does; denials: of CEL policies, on one line; warnings: for the
    user."""

    failures: str
    denials: str
    warnings: Sequence[str]

    def answer(self, resource: Resource) -> Answer:
        """Return the answer to the review of an object."""
        if not (self.failures or self.denials or self.warnings):
            return ALLOWED
        blocked = denials.blocked(resource, self.failures) if self.failures else ""
        message = "\n".join(filter(None, (blocked, self.denials)))
        return Answer(not message, message, self.warnings)


def decided(evaluated: Iterable[Evaluated], request: Request, failure: str) -> Decision:
    """Return what results decide of a request; failure: the failure policy of those that
    enforce."""
    old: list[Evaluated] = []
    new: list[Evaluated] = []
    for each in evaluated:
        (new if is_cel(each.policy) else old).append(each)
    failures = ""
    if any(refuses(each, request, failure) for each in old):
        failures = denials.failures([result for each in old for result in each.results])
    denying = [line for each in new if acts(each, DENY) for line in denials.by_cel(each.results)]
    warnings = [line for each in new if acts(each, WARN) for line in denials.by_cel(each.results)]
    return Decision(failures, "; ".join(denying), warnings)


def refuses(found: Evaluated, request: Request, failure: str) -> bool:
    """Return whether results of a ClusterPolicy refuse an object (`pkg/utils/engine`)."""
    for result in found.results:
        if result.status is Status.ERROR and failure == FAIL:
            return True
        if result.status is Status.FAIL:
            namespace, labels = request.resource.namespace, request.namespace_labels
            if found.policy.action(result.rule, namespace, labels) == ENFORCE:
                return True
    return False


def acts(found: Evaluated, action: str) -> bool:
    """Return whether a failure of a CEL policy has an effect; without any, it denies."""
    policy = found.policy.policy
    actions = policy.actions if isinstance(policy, CelPolicy) else ()
    return action in (actions or (DENY,))


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
        sharing = self._kinds.get(key)
        if sharing is None and len(self._kinds) < _MOST_KINDS:
            sharing = self._kinds[key] = Sharing(self._policies, self._space)
        return sharing


def _asker(request: Request) -> Hashable:
    user = request.user
    if user is None:
        return None
    extra = json.dumps(user.extra, sort_keys=True) if user.extra else ""
    return user.name, user.uid, user.groups, extra, user.roles, user.cluster_roles
