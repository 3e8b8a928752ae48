"""What a proof knows of the values of its requests, which share most of them with each other."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Final

from chartkit.model import Body, Json

_MOST: Final = 100_000
"""The most values that are recognized by their identity."""
written: Final = json.JSONEncoder(sort_keys=True, default=str).encode


class Contents:
    """Values by what is written in them, and what is known of these. No value is changed any more.

    refusals: the first reason for which an API server refuses an object, and stored: the object as
    an API server stores it, None for one that it stores as it is, both by the text of the object;
    reasons: why the value of an identity is not of a type in a field.
    """

    def __init__(self) -> None:
        self.refusals: dict[str, str] = {}
        self.stored: dict[str, Body | None] = {}
        self.reasons: dict[tuple[int, str, str], tuple[str, ...]] = {}
        self._texts: dict[int, str] = {}
        self._kept: dict[int, Json] = {}

    def text(self, value: Json) -> str:
        """Return the text of a value, the same one whatever the order of its keys."""
        if isinstance(value, str):
            return value
        known = self._texts.get(id(value))
        if known is None:
            known = self._texts[self.identity(value)] = written(value)
        return known

    def document(self, document: Body) -> Hashable:
        """Return what is equal for the documents of equal requests, and for no others."""
        return frozenset([(key, self.text(value)) for key, value in document.items()])

    def identity(self, value: Json) -> int:
        """Return a number that no other value has or will have."""
        if len(self._kept) >= _MOST:
            for known in (self._kept, self._texts, self.reasons):
                known.clear()
        self._kept[id(value)] = value
        return id(value)
