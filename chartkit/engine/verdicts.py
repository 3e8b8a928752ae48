"""Policies asked about many objects: what is equal in all that a policy reads is judged once.

Which policies that is worth while for shows after some objects: where all differ in what a policy
reads, such as its image, each is judged anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from chartkit.engine.evaluation import evaluate
from chartkit.engine.footprint import Footprint, Projection, UnboundedError
from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.policies import RunnablePolicy
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request.phase import Phase
from chartkit.engine.request.request import Operation, Request
from chartkit.engine.request.run import Run
from chartkit.model import RuleResult, Status

_FEW: Final = 8
"""The number of objects of a kind that are judged before it is worked out what is read of them."""
_TRIAL: Final = 512
"""The number of objects after which shared verdicts must have been worth while."""
_LEAST: Final = 3
"""The number of objects of which one at least must be equal to an earlier one."""
_MOST_VERDICTS: Final = 2048

Verdict = tuple[RuleResult, ...]


class Judge:
    """Policies in admission order, and the verdicts that objects of one run share.

    All requests of a run come from one user, and the labels of a namespace stay.
    """

    def __init__(self, policies: Sequence[RunnablePolicy], world: World = OFFLINE) -> None:
        self.policies = policies
        self._world = world
        self._kinds: dict[tuple[GroupVersionKind, str, bool], _Kind] = {}

    def results(self, request: Request) -> Sequence[RuleResult]:
        """Return what `evaluate` returns."""
        if self._world.timings is not None or not _is_plain(request):
            return evaluate(self.policies, request, self._world)
        resource = request.resource
        key = (request.kind or kind_of(resource), request.plural, bool(resource.namespace))
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _Kind(self.policies, request)
        return kind.results(request, self._world)


def _is_plain(request: Request) -> bool:
    return (
        request.operation is Operation.CREATE
        and request.old is None
        and not (request.variables or request.subresource or request.is_json)
    )


class _Kind:
    """The policies that may apply to objects of one kind, and their verdicts.

    alone: the policies whose verdicts objects share, by their numbers; together: all of these as
    one, None where hardly any objects are equal in all that they read.
    """

    __slots__ = ("_alone", "_policies", "_seen", "_together", "_validates_only")

    def __init__(self, policies: Iterable[RunnablePolicy], request: Request) -> None:
        self._policies = [each for each in policies if each.concerns(request)]
        self._validates_only = all(each.phases == _VALIDATION for each in self._policies)
        self._alone: dict[int, _Shared[Verdict]] = {}
        self._together: _Shared[_Whole] | None = None
        self._seen = 0

    def results(self, request: Request, world: World) -> Sequence[RuleResult]:
        self._seen += 1
        if self._seen == _FEW:
            self._share(_footprints(self._policies, request))
        elif self._seen % _TRIAL == 0:
            self._review()
        if not self._alone:
            return evaluate(self._policies, request, world)
        together = self._together
        if together is None:
            return self._judged(Run(request, world), self._known(request))
        key = together.key(request)
        found = together.find(key)
        if found is None:
            known = self._known(request)
            results = self._judged(Run(request, world), known)
            if all(number in known for number in self._alone):
                together.keep(key, _Whole(known, tuple(results)))
            return results
        if self._validates_only and len(self._alone) == len(self._policies):
            return found.results
        return self._judged(Run(request, world), found.verdicts)

    def _share(self, footprints: Mapping[int, Footprint]) -> None:
        """Share the verdicts of policies with known footprints."""
        self._alone = {number: _Shared(each) for number, each in footprints.items()}
        self._together = _Shared(*footprints.values()) if footprints else None

    def _review(self) -> None:
        """Leave out the policies of which too few objects were equal."""
        kept = {number: each for number, each in self._alone.items() if each.is_worth}
        if len(kept) < len(self._alone):
            self._share({number: each.footprint for number, each in kept.items()})
        elif self._together is not None and not self._together.is_worth:
            self._together = None

    def _known(self, request: Request) -> dict[int, Verdict]:
        """Return the verdicts on equal objects, by the numbers of the policies."""
        known: dict[int, Verdict] = {}
        for number, shared in self._alone.items():
            found = shared.find(shared.key(request))
            if found is not None:
                known[number] = found
        return known

    def _judged(self, run: Run, known: dict[int, Verdict]) -> Sequence[RuleResult]:
        """Return the results of a request, and add to the known verdicts those that are new."""
        given = run.request
        results: list[RuleResult] = []
        for phase in Phase:
            for number, policy in enumerate(self._policies):
                if phase not in policy.phases:
                    continue
                shared = self._alone.get(number)
                if shared is None or phase is not Phase.VALIDATE or run.request is not given:
                    policy.run_phase(run, phase, results)
                elif number in known:
                    results += known[number]
                else:
                    before = len(results)
                    policy.run_phase(run, phase, results)
                    verdict = tuple(results[before:])
                    if shared.keep(shared.key(given), verdict):
                        known[number] = verdict
        return run.settled(results)


_VALIDATION: Final = frozenset({Phase.VALIDATE})


class _Whole(NamedTuple):
    """The verdicts of several policies by their numbers, and the results of all of them."""

    verdicts: dict[int, Verdict]
    results: Verdict


V = TypeVar("V", Verdict, _Whole)


class _Shared(Generic[V]):
    """Verdicts by what was read of the objects."""

    __slots__ = ("_found", "_hits", "_project", "_tried", "footprint")

    def __init__(self, *footprints: Footprint) -> None:
        self.footprint = Footprint()
        for each in footprints:
            self.footprint.add(each)
        self._project: Projection = self.footprint.compile()
        self._found: dict[Hashable, V] = {}
        self._tried = self._hits = 0

    def key(self, request: Request) -> Hashable:
        """Return the part of a request that is read."""
        resource = request.resource
        place: Hashable = resource.namespace
        if request.namespace_labels:
            place = (place, *request.namespace_labels.items())
        return place, self._project(resource.body)

    def find(self, key: Hashable) -> V | None:
        """Return the verdict for a part of a request."""
        self._tried += 1
        found = self._found.get(key)
        if found is not None:
            self._hits += 1
        return found

    def keep(self, key: Hashable, verdict: V) -> bool:
        """Keep a verdict if it holds for all equal objects: no error, which may come of limits, and
        none of a text with a variable, which may stand for anything."""
        results = verdict.results if isinstance(verdict, _Whole) else verdict
        if any(each.status is Status.ERROR for each in results) or _has_variable(key):
            return False
        if len(self._found) >= _MOST_VERDICTS:
            self._found.clear()
        self._found[key] = verdict
        return True

    @property
    def is_worth(self) -> bool:
        """Return whether enough objects were equal, as far as can be told."""
        return self._tried < _TRIAL or self._hits * _LEAST > self._tried


def _footprints(policies: Iterable[RunnablePolicy], request: Request) -> dict[int, Footprint]:
    """Return the footprints of the policies that have one, by their numbers."""
    found: dict[int, Footprint] = {}
    for number, policy in enumerate(policies):
        if Phase.VALIDATE in policy.phases:
            with contextlib.suppress(UnboundedError):
                found[number] = policy.footprint(request)
    return found


def _has_variable(key: Hashable) -> bool:
    if isinstance(key, str):
        return "{{" in key
    if isinstance(key, bytes):
        return b"{{" in key
    return isinstance(key, tuple) and any(map(_has_variable, key))
