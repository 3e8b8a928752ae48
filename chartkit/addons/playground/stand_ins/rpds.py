"""The persistent collections of `rpds` that jsonschema and referencing use: copied when changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class HashTrieMap(dict[Any, Any]):
    """A mapping whose changes are copies."""

    @classmethod
    def convert(cls, value: Mapping[Any, Any]) -> HashTrieMap:
        return value if isinstance(value, cls) else cls(value)

    def insert(self, key: Any, value: Any) -> HashTrieMap:
        """Return a copy with an entry."""
        return self.update({key: value})

    def remove(self, key: Any) -> HashTrieMap:
        """Return a copy without an entry."""
        return HashTrieMap({other: value for other, value in self.items() if other != key})

    def update(self, *given: Any, **named: Any) -> HashTrieMap:  # type: ignore[override]
        """Return a copy with the entries of others."""
        made = HashTrieMap(self)
        dict.update(made, *given, **named)
        return made


class HashTrieSet(frozenset[Any]):
    """A set whose changes are copies."""

    def insert(self, value: Any) -> HashTrieSet:
        """Return a copy with a member."""
        return HashTrieSet(self | {value})

    def discard(self, value: Any) -> HashTrieSet:
        """Return a copy without a member that may be there."""
        return HashTrieSet(self - {value})


class List:
    """A list with a first item and a rest, which it shares with others."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = tuple(items)

    def push_front(self, value: Any) -> List:
        """Return a list with another first item."""
        return List((value, *self._items))

    @property
    def first(self) -> Any:
        """Return the first item."""
        return self._items[0]

    @property
    def rest(self) -> List:
        """Return the list without its first item."""
        return List(self._items[1:])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, List) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)
