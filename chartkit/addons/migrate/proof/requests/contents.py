"""The contents of the values in the requests of a proof, which share most of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from chartkit.model import Body, Json

_MOST: Final = 400_000
"""The most objects and lists whose contents are known, most of them small."""


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
        contents, new, of, is_object = self._found, self._new, self.of, isinstance(value, dict)
        listed = [
            member
            if (kind := type(member)) is str
            else contents.get(id(member)) or new(member)
            if kind is dict or kind is list
            else of(member)
            for member in (value.values() if isinstance(value, dict) else value)
        ]
        written: Hashable = (*value, *listed) if is_object else (list, *listed)
        content = self._known.get(written)
        if content is None:
            # Objects whose keys are in another order are the same.
            key = frozenset(zip(value, listed, strict=True)) if is_object else written
            content = self._known[written] = self._known.setdefault(key, object())
        if len(self._kept) >= _MOST:
            # All that is known of contents goes with them: equal values get new ones.
            for store in (self._kept, self._found, self._known, self.refusals, self.stored):
                store.clear()
            for answers in (self.specs, self.reasons, self._changed):
                answers.clear()
        # No other value has the identity of one that is kept.
        self._kept.append(value)
        self._found[id(value)] = content
        return content
