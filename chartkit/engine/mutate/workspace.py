"""What one rule keeps of the object that it patches, so that a patch costs what it changes.

A foreach patches one object once for each of its elements. Only the first patch reads the whole
object; what a patch does not touch is shared by the object before and after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Final, Protocol

from chartkit.engine.budget import Budget
from chartkit.engine.mutate.json_document import opened
from chartkit.model import Body, Json


class Workspace:
    """The budget of patches, and the object that the last JSON patch left.

    Of that object the keys are sorted already, but where the patch itself has written.
    """

    __slots__ = ("_changed", "_opened", "_resource", "_written", "budget")

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = Budget() if budget is None else budget
        self._resource: Body | None = None
        self._opened: Json = None
        self._changed: Iterable[Json] = ()
        self._written: Iterable[Json] = ()

    def opened(self, resource: Body) -> Json:
        """An object with its keys sorted, for reading alone; the last one is not read again."""
        if resource is not self._resource:
            self.budget.spend(_READING, "a patch")
            self._resource, self._opened = resource, opened(resource)
        else:
            for container in self._changed:
                _sort_keys(container)
            for value in self._written:
                _sort(value)
        self._changed = self._written = ()
        return self._opened

    def keep(self, patched: Json, changed: Iterable[Json], written: Iterable[Json]) -> None:
        """Takes what a patch made of the object; changed: the containers that it put something
        into; written: the values that it put there."""
        if isinstance(patched, dict):
            self._resource = self._opened = patched
            self._changed, self._written = changed, written


class Patch(Protocol):
    """Makes the patched object, or gives the very same where nothing changes."""

    def __call__(self, resource: Body, work: Workspace | None = None, /) -> Json:
        """Patches a resource, which stays as it is; raises `PatchError` and `BudgetError`.

        work: that of all patches of one object, where there are many.
        """
        ...


def _sort_keys(value: Json) -> None:
    if isinstance(value, dict):
        members = sorted(value.items(), key=itemgetter(0))
        value.clear()
        value.update(members)


def _sort(value: Json) -> None:
    if isinstance(value, dict):
        _sort_keys(value)
        for member in value.values():
            _sort(member)
    elif isinstance(value, list):
        for member in value:
            _sort(member)


_READING: Final = 100
"""Steps of an object that is read as a whole."""
