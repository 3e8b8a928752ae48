"""Outcomes of lookups, remembered for this run: many objects lead to the same question."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from chartkit.errors import ChartkitError

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


class Memory(Generic[Key, Found]):
    """Outcomes by key, failures included. The least recently used ones are forgotten first, but
    never the last one."""

    __slots__ = ("_known", "_left", "_size")

    def __init__(
        self,
        room: float = math.inf,
        size: Callable[[Key, Found | ChartkitError], int] = lambda _key, _outcome: 1,
    ) -> None:
        """Create an empty memory. room: the sum of the sizes that are kept; size: of a key with its
        outcome, 1 for each by default."""
        self._known: OrderedDict[Key, Found | ChartkitError] = OrderedDict()
        self._left = room
        self._size = size

    def once(self, key: Key, find: Callable[[], Found]) -> Found:
        """Return the outcome for a key, found now or before; raises what `find` raised."""
        if key not in self._known:
            try:
                self.put(key, find())
            except ChartkitError as error:
                self.put(key, error)
        self._known.move_to_end(key)
        outcome = self._known[key]
        if isinstance(outcome, ChartkitError):
            raise outcome.with_traceback(None)
        return outcome

    def get(self, key: Key) -> Found | None:
        """Return what was found for a key; None where nothing was."""
        if key not in self._known:
            return None
        self._known.move_to_end(key)
        outcome = self._known[key]
        return None if isinstance(outcome, ChartkitError) else outcome

    def put(self, key: Key, outcome: Found | ChartkitError) -> None:
        """Remember an outcome in place of an earlier one."""
        if key in self._known:
            self._left += self._size(key, self._known.pop(key))
        self._known[key] = outcome
        self._left -= self._size(key, outcome)
        while self._left < 0 and len(self._known) > 1:
            self._left += self._size(*self._known.popitem(last=False))
