"""The state of the object that a rule patches, so that a patch costs no more than its changes.

A foreach patches one object once for each of its elements. Only the first patch reads the whole
object; what a patch does not touch is shared by the object before and after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from chartkit.engine.budget import Budget
from chartkit.engine.cluster_policy.mutate.key_order import KeyOrder
from chartkit.engine.cluster_policy.mutate.settled import Settled
from chartkit.engine.json_patch.json_document import opened
from chartkit.engine.json_patch.nodes import copied
from chartkit.model import Body, Json

_FEW: Final = 3
"""The number of merges that read the whole object."""


class Workspace:
    """The budget of patches, and the object that the last patch left.

    settled: what strategic merges keep of it, None for the first few of them, which are faster
    without it; all else is of JSON patches.
    """

    __slots__ = ("_merges", "_opened", "_order", "_resource", "budget", "settled")

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = Budget() if budget is None else budget
        self.settled: Settled | None = None
        self._merges = 0
        self._resource: Body | None = None
        self._opened: Json = None
        self._order = KeyOrder()

    def target(self, resource: Body) -> Json:
        """An object with its keys sorted for a strategic merge: a copy, or for reading alone."""
        if self.settled is not None:
            return self.settled.base(resource)
        self._merges += 1
        if self._merges <= _FEW:
            return copied(resource)
        self.settled = Settled()
        return self.settled.base(resource)

    def opened(self, resource: Body) -> Json:
        """An object with its keys sorted, for reading alone; the last one is not read again."""
        if resource is not self._resource:
            self._resource, self._opened = resource, opened(resource)
            self._order = KeyOrder()
        self._order.sort()
        return self._opened

    def left(self) -> None:
        """Takes that a patch changed nothing."""
        self._order.restore()

    def keep(self, patched: Json, changed: Iterable[Json], written: Json) -> None:
        """Takes what a patch made of the object; changed: the containers that it put something
        into; written: the values that it put there."""
        if isinstance(patched, dict):
            self._resource = self._opened = patched
            self._order.keep(changed, written)


class Patch(Protocol):
    """Makes the patched object, or gives the very same where nothing changes."""

    def __call__(self, resource: Body, work: Workspace | None = None, /) -> Json:
        """Patches a resource, which stays as it is; raises `PatchError` and `BudgetError`.

        work: that of all patches of one object, where there are many.
        """
        ...
