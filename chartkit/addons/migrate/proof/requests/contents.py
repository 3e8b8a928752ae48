"""The contents of the values in the requests of a proof, which share most of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any, Final

from chartkit.model import Body, Json

_MOST: Final = 400_000
"""The most objects and lists whose contents are known, most of them small."""
_Order = Callable[[Sequence[Hashable]], tuple[Any, ...]]
"""Puts values in the order of their sorted keys."""


class Contents:
    """The contents of values, and what is known of these. No value is changed any more.

    refusals: the first reason for which an API server refuses an object, stored: the object as an
    API server stores it, None for one that it stores as it is, specs: the specifications of Pods
    with its defaults, and reasons: why a value is not of a type in a field; all by contents.
    """

    def __init__(self) -> None:
        self.refusals: dict[Hashable, str] = {}
        self.stored: dict[Hashable, Body | None] = {}
        self.specs: dict[Hashable, Body] = {}
        self.reasons: dict[tuple[Hashable, str, str], tuple[str, ...]] = {}
        self._changed: dict[int, dict[Hashable, Body]] = {}
        self._known: dict[Hashable, object] = {}
        self._found: dict[int, object] = {}
        self._keys: dict[tuple[str, ...], tuple[frozenset[str], _Order]] = {}
        self._kept: list[Json] = []

    def of(self, value: Json) -> Hashable:
        """Return what is equal for values that are written alike, whatever the order of their keys,
        and for no others."""
        if isinstance(value, str):
            return value
        if not isinstance(value, (dict, list)):
            return type(value), value
        return self._found.get(id(value)) or self._new(value)

    def changed_of(self, value: Body) -> dict[Hashable, Body]:
        """Return what became of an object, by what was changed: nothing that lasts for one whose
        content is not known."""
        is_known = id(value) in self._found
        return self._changed.setdefault(id(value), {}) if is_known else {}

    def _new(self, value: Body | list[Json]) -> object:
        contents, new, of = self._found, self._new, self.of
        listed = [
            member
            if (kind := type(member)) is str
            else contents.get(id(member)) or new(member)
            if kind is dict or kind is list
            else of(member)
            for member in (value.values() if isinstance(value, dict) else value)
        ]
        if isinstance(value, dict):
            names = tuple(value)
            keys, in_order = self._keys.get(names) or self._new_keys(names)
            written = (keys, *in_order(listed))
        else:
            written = (list, *listed)
        content = self._known.get(written)
        if content is None:
            content = self._known[written] = object()
        if len(self._kept) >= _MOST:
            # All that is known of contents goes with them: equal values get new ones.
            for store in (self._kept, self._found, self._keys, self._known):
                store.clear()
            for answers in (self.refusals, self.stored, self.specs, self.reasons, self._changed):
                answers.clear()
        # No other value has the identity of one that is kept.
        self._kept.append(value)
        self._found[id(value)] = content
        return content

    def _new_keys(self, names: tuple[str, ...]) -> tuple[frozenset[str], _Order]:
        """Return what is the same for some keys in any order, and what sorts values by them."""
        order = sorted(range(len(names)), key=lambda at: repr(names[at]))
        in_order = itemgetter(*order) if len(order) > 1 else tuple
        self._keys[names] = made = frozenset(names), in_order
        return made
