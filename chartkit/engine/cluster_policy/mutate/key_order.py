"""The keys of an object that is patched again and again: each patch reads them in order.

What a patch writes stands at the end of its object until the next one reads it, and stays there
where that one changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import Final

from chartkit.model import Body, Json


class KeyOrder:
    """The objects that the last patch wrote into, and the order of their keys before this one."""

    __slots__ = ("_before", "_written")

    def __init__(self) -> None:
        self._written: list[Body] = []
        self._before: list[tuple[Body, list[tuple[str, Json]]]] = []

    def sort(self) -> None:
        """Puts the keys in order."""
        self._before = [(body, list(body.items())) for body in self._written]
        for body, members in self._before:
            _fill(body, sorted(members, key=_first))

    def restore(self) -> None:
        """Puts the keys as they were: nothing was changed."""
        for body, members in self._before:
            _fill(body, members)
        self._before = []

    def keep(self, changed: Iterable[Json], written: Json) -> None:
        """Takes what a patch wrote. changed: containers that were there before; written: values
        that were not, with all that they hold."""
        self._before = []
        objects = (one for one in changed if isinstance(one, dict))
        self._written = [
            one for one in chain(objects, _objects(written)) if list(one) != sorted(one)
        ]


def _fill(body: Body, members: list[tuple[str, Json]]) -> None:
    body.clear()
    body.update(members)


def _objects(value: Json) -> Iterator[Body]:
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from _objects(member)
    elif isinstance(value, list):
        for member in value:
            yield from _objects(member)


_first: Final = itemgetter(0)
