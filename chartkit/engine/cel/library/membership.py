"""Membership: tests of many values against the same list."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from chartkit.engine.cel.library.costs import MAX_WORK, bounded
from chartkit.engine.cel.types import Type
from chartkit.engine.cel.values import Uint, Value, same

_EXACT = 2**53
"""Beyond it a whole number is rounded before it is compared with a double."""

_PLAIN = frozenset({str, bytes, bool, type(None), Type})


def _key(value: Value) -> Hashable | None:
    """A key that equal values of simple types share; None for values that must be compared."""
    kind = value.__class__
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return value if -_EXACT < value < _EXACT else None  # type: ignore[operator]
    if kind is int or kind is Uint:
        return value if -_EXACT < value < _EXACT else None  # type: ignore[operator]
    return None


class Members:
    """Values that are looked for; simple ones by their hash, the others one by one."""

    __slots__ = ("_keys", "_others", "_work")

    def __init__(self, values: Iterable[Value] = ()) -> None:
        self._keys: set[Hashable] = set()
        self._others: list[Value] = []
        self._work = 0
        for value in values:
            self.add(value)

    def add(self, value: Value) -> None:
        """Add a value."""
        key = _key(value)
        if key is None:
            self._others.append(value)
        else:
            self._keys.add(key)

    @property
    def hashed(self) -> bool:
        """Report whether no value is among them that only comparing finds."""
        return not self._others

    def has(self, value: Value) -> bool:
        """Report whether there is an equal value; raises `CostLimitExceeded` after too many."""
        key = _key(value)
        if key is not None and key in self._keys:
            return True
        if not self._others:
            return False
        self._work += len(self._others)
        bounded(self._work, MAX_WORK)
        return any(same(value, other) for other in self._others)
