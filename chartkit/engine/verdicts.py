"""Policies that judge many objects; after the first few of a kind, objects share verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from chartkit.engine.kubernetes.kinds import GroupVersionKind, kind_of
from chartkit.engine.policies import RunnablePolicy, evaluate
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Operation, Request
from chartkit.model import RuleResult

if TYPE_CHECKING:
    from chartkit.engine.sharing import SharedKind, Space

_Key = tuple[GroupVersionKind, str, bool]

FEW: Final = 8
"""The number of objects of a kind that are judged before their verdicts are shared."""


class Judge:
    """Policies in admission order, and the verdicts that objects of one run share.

    All requests of a run come from one user, and the labels of a namespace stay.
    """

    def __init__(self, policies: Sequence[RunnablePolicy], world: World = OFFLINE) -> None:
        self.policies = policies
        self._world = world
        self._few: dict[_Key, tuple[Sequence[RunnablePolicy], int]] = {}
        self._kinds: dict[_Key, SharedKind] = {}
        self._space: Space | None = None

    def results(self, request: Request) -> Sequence[RuleResult]:
        """Return the same as `evaluate`."""
        if self._world.timings is not None or not is_shareable(request):
            return evaluate(self.policies, request, self._world)
        resource = request.resource
        key = (request.kind or kind_of(resource), request.plural, bool(resource.namespace))
        kind = self._kinds.get(key)
        return self._early(key, request) if kind is None else kind.results(request, self._world)

    def _early(self, key: _Key, request: Request) -> Sequence[RuleResult]:
        """Return the results for one of the first objects of a kind."""
        policies, seen = self._few.get(key) or (
            [policy for policy in self.policies if policy.concerns(request)],
            0,
        )
        if seen + 1 < FEW:
            self._few[key] = policies, seen + 1
            return evaluate(policies, request, self._world)
        from chartkit.engine.sharing import SharedKind, Space

        if self._space is None:
            self._space = Space()
        kind = self._kinds[key] = SharedKind(policies, self._space, seen)
        return kind.results(request, self._world)


def is_shareable(request: Request) -> bool:
    """Report whether the verdict on a request may be that on another one: a new object, of which a
    user says nothing."""
    return (
        request.operation is Operation.CREATE
        and request.old is None
        and not (request.variables or request.subresource or request.is_json)
    )
