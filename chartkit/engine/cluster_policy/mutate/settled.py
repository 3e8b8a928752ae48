"""The parts of an object that later patches of a strategic merge need not read again.

A merge goes through the whole object, for it drops what is empty and orders lists wherever they
are. A part that it leaves as it is once, it leaves as it is each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import Final

from chartkit.engine.cluster_policy.mutate.key_order import KeyOrder
from chartkit.engine.cluster_policy.mutate.schema import Schema
from chartkit.engine.json_patch.nodes import copied
from chartkit.model import Body, Json

Texts = tuple[str, ...]
"""The texts of an element's keys."""

_MOST_LISTS: Final = 16


class Indexed:
    """A list by the keys of its elements, and those of them that are not settled."""

    __slots__ = ("elements", "pending", "source")

    def __init__(
        self, source: list[Json], elements: dict[Texts, Json], pending: Iterable[Texts]
    ) -> None:
        self.source = source
        self.elements = elements
        self.pending = tuple(pending)


class Settled:
    """The object that the last merge left, and its parts that the next one leaves alone.

    Containers that a merge is about to change are copied first, so everything else is shared by
    the object before and after it.
    """

    __slots__ = ("_base", "_lists", "_order", "_own", "_parts", "_resource")

    def __init__(self) -> None:
        self._resource: Body | None = None
        self._base: Json = None
        self._order = KeyOrder()
        self._own: list[Json] = []
        self._parts: dict[int, tuple[Json, Schema | None]] = {}
        self._lists: dict[int, Indexed] = {}

    def base(self, resource: Body) -> Json:
        """The resource with its keys sorted, for reading alone."""
        if resource is not self._resource:
            self._parts, self._lists, self._order = {}, {}, KeyOrder()
            self._resource, self._base = resource, copied(resource)
        self._order.sort()
        self._own = []
        return self._base

    def left(self) -> None:
        """Takes that a merge changed nothing."""
        self._order.restore()

    def keep(self, patched: Json, patch: Json) -> None:
        """Takes what a merge made of the resource; patch: what it may have put there."""
        if isinstance(patched, dict):
            self._resource = self._base = patched
            self._order.keep(self._own, patch)

    def own(self, container: Json) -> Json:
        """A copy of a container, to be changed."""
        made = container.copy()
        self._own.append(made)
        return made

    def knows(self, container: Json, schema: Schema | None) -> bool:
        """Return whether a merge leaves a container as it is."""
        found = self._parts.get(id(container))
        return found is not None and found[1] == schema

    def settle(self, container: Json, schema: Schema | None) -> None:
        """Takes a container that a merge left as it is."""
        self._parts[id(container)] = (container, schema)

    def indexed(self, source: Json) -> Indexed | None:
        """Return the index of a list that a merge produced."""
        return self._lists.pop(id(source), None)

    def index(self, made: Indexed) -> None:
        """Takes a list that a merge made."""
        if len(self._lists) >= _MOST_LISTS:
            del self._lists[next(iter(self._lists))]
        self._lists[id(made.source)] = made


def unchanged(before: Json, after: Json) -> bool:
    """Return whether two containers have the very same members in the same order."""
    if isinstance(before, dict):
        return list(before) == list(after) and all(map(is_, before.values(), after.values()))
    return len(before) == len(after) and all(map(is_, before, after))
