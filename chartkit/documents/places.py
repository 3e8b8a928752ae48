"""The places of the keys and list items of one document, found again in its text.

Values are built without places, which keeps reading fast; they are found when they are requested.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Protocol

from chartkit.documents.block_places import BlockPlaces, Found
from chartkit.documents.yaml_builder import BuiltDocument, Start

OTHER_BREAKS: Final = dict.fromkeys(map(ord, "\x85\u2028\u2029"), " ")
"""Line breaks of YAML 1.1 that editors do not count."""
_CACHED_DOCUMENTS: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class Extent:
    """The part of a text that a document takes.

    start, end: in characters; line: the first line of its value (from 1); items: where the items of
    a List in YAML begin; is_block: whether the document is in plain block style.
    """

    start: int
    end: int
    line: int
    is_json: bool = False
    items: Sequence[Start] = field(default=(), compare=False, repr=False)
    is_block: bool = False


class Finder(Protocol):
    """A search for places in one document."""

    def find(self, path: Sequence[str]) -> Found:
        """Return the place of a path, or of its nearest existing parent."""


def extents(text: str, documents: Sequence[BuiltDocument]) -> Iterator[Extent]:
    """Yield the extents of a text's documents in YAML; lines end as they do in editors."""
    ends: list[int] = []
    if not text.isascii() and not OTHER_BREAKS.keys().isdisjoint(map(ord, set(text))):
        ends = [at for at, letter in enumerate(text) if letter == "\n"]

    def corrected(start: Start) -> Start:
        before = bisect(ends, start.offset - 1)
        column = start.offset - (ends[before - 1] + 1 if before else 0)
        return Start(before + 1, column, start.offset)

    for part in documents:
        content, items = part.content, part.items
        if ends:
            content, items = corrected(content), [corrected(item) for item in items]
        yield Extent(part.start, part.end, content.line, items=items, is_block=part.is_block)


@lru_cache(maxsize=_CACHED_DOCUMENTS)
def finder(text: str, extent: Extent) -> Finder:
    """Return the finder of a document; the last ones are cached: places are requested in rows."""
    if extent.is_block:
        return BlockPlaces(text, extent.start, extent.end, extent.line, extent.items)
    from chartkit.documents.parsed_places import JsonFinder, YamlFinder

    return JsonFinder(text, extent) if extent.is_json else YamlFinder(text, extent)
