"""Verdicts that objects share: objects that are equal in all that a policy reads are judged once.

After some objects it shows for which policies this pays off: if all objects differ in what a policy
reads, such as their images, each is judged on its own.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, Generic, NamedTuple, TypeVar

from chartkit.engine.kubernetes.kinds import is_cel_policy
from chartkit.engine.policies import RunnablePolicy, evaluate
from chartkit.engine.ports.world import World
from chartkit.engine.reads import Course, Reads, ReadTree
from chartkit.engine.request import Phase, Request, Run
from chartkit.model import Body, Resource, RuleResult, Status

_TRIAL: Final = 32
"""The number of objects after which it is looked at whether shared verdicts were worth while, and
again after as many more."""
_AT_FIRST: Final = 16
_LEAST: Final = 3
"""The number of objects of which one at least must be equal to an earlier one: at first, and once
there were enough trials."""
_MOST_TRIALS: Final = 512
_MOST_CHARACTERS: Final = 1 << 24
Verdict = tuple[RuleResult, ...]
W = TypeVar("W")
V = TypeVar("V")


class SharedKind:
    """The policies that may apply to objects of one kind, and the verdicts that these share."""

    __slots__ = ("_phased", "_policies", "_sharing", "_validates_only")

    def __init__(self, policies: Sequence[RunnablePolicy], space: Space, seen: int) -> None:
        """seen: the number of objects that were judged before."""
        self._policies = policies
        self._phased = [
            (phase, number, policy)
            for phase in Phase
            for number, policy in enumerate(policies)
            if phase in policy.phases
        ]
        self._validates_only = all(runnable.phases == {Phase.VALIDATE} for runnable in policies)
        self._sharing: Sharing[Whole] = Sharing(policies, space, seen + 1, seen)

    def results(self, request: Request, world: World) -> Sequence[RuleResult]:
        sharing = self._sharing
        if not sharing.is_ready():
            return evaluate(self._policies, request, world)
        key = place_of(request)
        whole = sharing.whole(request, key)
        if whole is not None and self._validates_only and sharing.is_all:
            return whole.results
        run = Run(request, world)
        results: list[RuleResult] = []
        verdicts: dict[int, Verdict] = {}
        courses: list[Course] = []
        for phase, number, policy in self._phased:
            shared = sharing.verdicts.get(number)
            if shared is None or phase is not Phase.VALIDATE or run.request is not request:
                policy.run_phase(run, phase, results)
            elif whole is not None:
                results += whole.verdicts[number]
            else:
                verdict, course = judged(policy, request, world, shared, key)
                results += verdict
                if course is not None:
                    verdicts[number] = verdict
                    courses.append(course)
        settled = run.settled(results)
        if whole is None:
            sharing.keep(courses, request, key, Whole(verdicts, tuple(settled)))
        return settled


class Whole(NamedTuple):
    """The verdicts of several policies by their numbers, and the results of all of them."""

    verdicts: Mapping[int, Verdict]
    results: Verdict


class Sharing(Generic[W]):
    """The verdicts that requests of one kind share. Several threads may use it.

    verdicts: by number, the verdicts of each policy that is judged once for equal objects. Their
    combined result is kept as a whole, unless hardly any objects are equal in all reads.
    """

    __slots__ = ("_few", "_policies", "_seen", "_space", "_together", "verdicts")

    def __init__(
        self, policies: Sequence[RunnablePolicy], space: Space, few: int, seen: int = 0
    ) -> None:
        """few: how many requests are judged before verdicts are shared; seen: how many already
        were."""
        self._few = few
        self._policies = policies
        self._space = space
        self._together: Shared[W] | None = None
        self._seen = seen
        self.verdicts: dict[int, Shared[Verdict]] = {}

    @property
    def is_all(self) -> bool:
        """Report whether the verdicts of all policies are shared."""
        return len(self.verdicts) == len(self._policies)

    def is_ready(self) -> bool:
        """Report whether verdicts are shared: not for the first few requests, nor for policies with
        too few equal objects."""
        self._seen += 1
        if self._seen == self._few:
            shareable = enumerate(map(_may_share, self._policies))
            self._set({number: Shared(self._space, _TRIAL) for number, may in shareable if may})
        elif self._seen % _TRIAL == 0:
            kept = {number: shared for number, shared in self.verdicts.items() if shared.is_worth}
            if len(kept) < len(self.verdicts):
                self._set(kept)
            elif self._together is not None and not self._together.is_worth:
                self._together = None
        return bool(self.verdicts)

    def _set(self, verdicts: dict[int, Shared[Verdict]]) -> None:
        self.verdicts = verdicts
        self._together = Shared(self._space, _MOST_TRIALS)

    def whole(self, request: Request, group: Hashable) -> W | None:
        """Return the combined result of all shared verdicts on an equal request."""
        verdict = None if self._together is None else self._together.find(request, group)
        return None if verdict is None else verdict[0]

    def keep(
        self, courses: Collection[Course], request: Request, group: Hashable, whole: W
    ) -> None:
        """Keep the combined result of all shared verdicts; courses: the reads behind each verdict
        that holds for other objects."""
        if self._together is not None and len(courses) == len(self.verdicts):
            self._together.keep(Reads.joined(courses, *_roots(request)), group, whole)


def _may_share(policy: RunnablePolicy) -> bool:
    """Report whether a verdict may depend on object, namespace and user alone."""
    phases = policy.phases
    if Phase.VALIDATE not in phases or Phase.IMAGES in phases:
        return False
    resource = policy.policy.resource
    if is_cel_policy(resource):
        # Whatever else an expression asks for goes through its host, which is noticed.
        return "paramKind" not in resource.body["spec"]
    return not policy.looks_around


def place_of(request: Request) -> Hashable:
    """Return what else a verdict depends on beside the roots of a request: the namespace and its
    labels."""
    return (request.resource.namespace, *request.namespace_labels.items())


def _roots(request: Request) -> tuple[Body, Body]:
    """The roots of a request's reads: the object and the fields of a review."""
    return request.resource.body, request.review or _NO_FIELDS


_NO_FIELDS: Final[Body] = {}


class Space:
    """The space that shared verdicts take, in characters of what was read; objects come from users.
    When it is used up, all of them are forgotten."""

    __slots__ = ("_most", "_used", "_users")

    def __init__(self, most: int = _MOST_CHARACTERS) -> None:
        self._most = most
        self._used = 0
        self._users: list[Shared[Any]] = []

    def add(self, user: Shared[Any]) -> None:
        """Add verdicts that take of the space."""
        self._users.append(user)

    def has(self, size: int) -> bool:
        """Report whether there is space for one more verdict, and take it."""
        if size > self._most // 64:
            return False
        self._used += size
        if self._used > self._most:
            self._used = size
            for user in self._users:
                user.forget()
        return True


class Shared(Generic[V]):
    """Verdicts on requests of one kind, by what was read of them. Several threads may use it."""

    __slots__ = ("_hits", "_patience", "_space", "_trees", "_tried")

    def __init__(self, space: Space, patience: int) -> None:
        """patience: the number of objects that it may take until one is equal to another."""
        self._patience = patience
        self._space = space
        self._trees: dict[Hashable, ReadTree[tuple[V, Course]]] = {}
        self._tried = self._hits = 0
        space.add(self)

    def find(self, request: Request, group: Hashable) -> tuple[V, Course] | None:
        """Return the verdict on an equal request, and the reads that led to it."""
        self._tried += 1
        tree = self._trees.get(group)
        try:
            kept = None if tree is None else tree.find(*_roots(request))
        except RecursionError:
            kept = None
        if kept is not None:
            self._hits += 1
        return kept

    def keep(self, reads: Reads, group: Hashable, verdict: V) -> None:
        """Keep a verdict for all requests that answer the reads alike, unless their answers nest
        too deep to be compared."""
        with suppress(RecursionError):
            if self._space.has(reads.size):
                self._trees.setdefault(group, ReadTree()).keep(reads, (verdict, reads.course))

    def forget(self) -> None:
        """Forget all verdicts."""
        self._trees = {}

    @property
    def is_worth(self) -> bool:
        """Report whether enough objects were equal so far."""
        least = _LEAST if self._tried >= _MOST_TRIALS else _AT_FIRST
        return self._tried < self._patience or self._hits * least > self._tried


def judged(
    policy: RunnablePolicy, request: Request, world: World, shared: Shared[Verdict], group: Hashable
) -> tuple[Verdict, Course | None]:
    """Return the verdict of a policy's validation, new or kept from an equal request, and the reads
    that led to it; None if it holds for this request alone."""
    kept = shared.find(request, group)
    if kept is not None:
        return kept
    reads = Reads(*_roots(request))
    body, fields = reads.roots
    resource = Resource(body, request.resource.location)
    own = replace(request, resource=resource, review=None if request.review is None else fields)
    results: list[RuleResult] = []
    try:
        with reads.recording():
            policy.run_phase(Run(own, world), Phase.VALIDATE, results)
        is_error = any(result.status is Status.ERROR for result in results)
        is_again = is_error and reads.is_repeatable
    except RecursionError:
        is_error = is_again = True
    if is_again:
        # It may come of the limits of one request, of which records take a part.
        results = []
        policy.run_phase(Run(request, world), Phase.VALIDATE, results)
    verdict = tuple(results)
    if is_error or not reads.is_repeatable:
        return verdict, None
    shared.keep(reads, group, verdict)
    return verdict, reads.course
