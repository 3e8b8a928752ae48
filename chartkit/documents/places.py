"""The places of the keys and list items of one document, found again in its text.

Values are built without places, which keeps reading fast. YAML is parsed once more when a place of
a document is first requested; JSON is walked along the path. The items of a List are parsed one by
one: a file of 10,000 objects costs as much as those that a report names.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from json import JSONDecoder
from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple, Protocol

import yaml
from yaml._yaml import CParser
from yaml.events import DocumentStartEvent, MappingEndEvent, ScalarEvent, SequenceEndEvent

from chartkit.documents.block_places import BlockPlaces, Found
from chartkit.documents.yaml_builder import Builder, BuiltDocument, Start
from chartkit.errors import InputError
from chartkit.model import item_number

_ITEMS: Final = "items"
_OTHER_BREAKS: Final = dict.fromkeys(map(ord, "\x85\u2028\u2029"), " ")
"""Line breaks of YAML 1.1 that editors do not count."""
_CACHED_DOCUMENTS: Final = 8
_CACHED_CONTAINERS: Final = 256


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
    if not text.isascii() and not _OTHER_BREAKS.keys().isdisjoint(map(ord, set(text))):
        ends = [at for at, letter in enumerate(text) if letter == "\n"]

    def corrected(start: Start) -> Start:
        before = bisect(ends, start.offset - 1)
        column = start.offset - (ends[before - 1] + 1 if before else 0)
        return Start(before + 1, column, start.offset)

    for each in documents:
        content, items = each.content, each.items
        if ends:
            content, items = corrected(content), [corrected(item) for item in items]
        yield Extent(each.start, each.end, content.line, items=items, is_block=each.is_block)


@lru_cache(maxsize=_CACHED_DOCUMENTS)
def finder(text: str, extent: Extent) -> Finder:
    """Return the finder of a document; the last ones are cached: places are requested in rows."""
    if extent.is_block:
        return BlockPlaces(text, extent.start, extent.end, extent.line, extent.items)
    return _JsonFinder(text, extent) if extent.is_json else _YamlFinder(text, extent)


class _Tree(NamedTuple):
    """The places of a YAML value; root: mappings by key and lists, each member a pair of its mark
    and what it holds; line: to be added to those of marks."""

    root: Any
    line: int


class _YamlFinder:
    """Places in YAML. Aliases and merge keys lead to the place of the value that is written out."""

    __slots__ = ("_extent", "_item", "_text", "_whole")

    def __init__(self, text: str, extent: Extent) -> None:
        self._text = text
        self._extent = extent
        self._whole: _Tree | None = None
        self._item: tuple[int, _Tree | None] = (-1, None)

    def find(self, path: Sequence[str]) -> Found:
        number = item_number(path[1]) if len(path) > 1 and path[0] == _ITEMS else None
        number = number if number is not None and number < len(self._extent.items) else None
        if number is not None:
            start = self._extent.items[number]
            found = Found(2, start.line, start.column + 1)
            if len(path) == len(found[:2]):
                return found
            if self._item[0] != number:
                items = self._extent.items
                start, following = items[number], items[number + 1 : number + 2]
                end = following[0].offset if following else self._extent.end
                # Padding keeps the item's indentation, and so its columns.
                text = " " * start.column + self._text[start.offset : end]
                self._item = (number, _tree(text, start.line))
            tree = self._item[1]
            if tree is not None:
                return _walk(tree, path, found)
        if self._whole is None:
            self._whole = self._document_tree()
        return _walk(self._whole, path, Found(0))

    def _document_tree(self) -> _Tree:
        start = self._extent.start
        column = start - 1 - self._text.rfind("\n", 0, start)
        text = " " * column + self._text[start : self._extent.end]
        return _tree(text, self._extent.line) or _Tree(None, 0)


def _tree(text: str, line: int) -> _Tree | None:
    """Return the places of a text's first value, which begins in a line; None for a text that
    cannot be read by itself: it has an alias of what is defined elsewhere."""
    if not text.isascii():
        text = text.translate(_OTHER_BREAKS)
    parser = CParser(text)
    try:
        while not isinstance(before := parser.get_event(), DocumentStartEvent):
            if before is None:
                return None
        event: Any = parser.get_event()
        root = _PlaceBuilder(parser.get_event, "").value(event)
        return _Tree(root, line - event.start_mark.line)
    except (InputError, yaml.YAMLError):
        return None
    finally:
        parser.dispose()


class _PlaceBuilder(Builder):
    """A builder of the trees of `_Tree`, from the same events and keys as the values."""

    def _sequence(self) -> list[Any]:
        next_event = self.next_event
        items: list[Any] = []
        while (event := next_event()).__class__ is not SequenceEndEvent:
            is_scalar = event.__class__ is ScalarEvent and event.anchor is None
            items.append((event.start_mark, None if is_scalar else self.value(event)))
        self.nodes += len(items)
        return items

    def _mapping(self) -> dict[str, Any]:
        next_event = self.next_event
        members: dict[str, Any] = {}
        while (event := next_event()).__class__ is not MappingEndEvent:
            key = self.value(event)
            if key.__class__ is not str:
                key = self._key(key, event)
            elif key == "<<" and event.__class__ is ScalarEvent and event.implicit[0]:
                start = next_event()
                merged = self.value(start)
                whole = [each for _, each in merged] if isinstance(merged, list) else merged
                self._merge(members, whole, start)
                continue
            # A scalar that nothing refers to holds no places.
            content = next_event()
            is_scalar = content.__class__ is ScalarEvent and content.anchor is None
            members[key] = (event.start_mark, None if is_scalar else self.value(content))
        self.nodes += len(members)
        return members


def _is_item(step: str, items: Sequence[Any]) -> bool:
    number = item_number(step)
    return number is not None and number < len(items)


def _walk(tree: _Tree, path: Sequence[str], found: Found) -> Found:
    """Return the place of a path in a tree; found: the place of the tree's root."""
    node, mark, steps = tree.root, None, found.steps
    for step in path[steps:]:
        if isinstance(node, dict) and step in node:
            mark, node = node[step]
        elif isinstance(node, list) and _is_item(step, node):
            mark, node = node[int(step)]
        else:
            break
        steps += 1
    if mark is None:
        return found
    row, column = mark if mark.__class__ is tuple else (mark.line, mark.column)
    return Found(steps, tree.line + row, column + 1)


class _JsonFinder:
    """Places in JSON, which the reader has accepted. Values are passed over at the decoder's speed;
    the members of the containers on the way are cached."""

    __slots__ = ("_containers", "_items", "_root", "_text")

    def __init__(self, text: str, extent: Extent) -> None:
        at = _content_at(text, extent.start)
        self._text = text
        self._root = Start(extent.line, at - 1 - text.rfind("\n", 0, at), at)
        self._items: Sequence[Start] | None = None
        self._containers: dict[int, dict[str, tuple[int, int]]] = {}

    def find(self, path: Sequence[str]) -> Found:
        base, steps, place = self._begin(path)
        at = base.offset
        for step in path[steps:]:
            members = self._members(at)
            if step not in members:
                break
            place, at = members[step]
            steps += 1
        if place is None:
            return Found(0)
        start = self._start(base, place)
        return Found(steps, start.line, start.column + 1)

    def _begin(self, path: Sequence[str]) -> tuple[Start, int, int | None]:
        """Return where the search begins: at an item of a List, or at the whole value."""
        number = item_number(path[1]) if len(path) > 1 and path[0] == _ITEMS else None
        if number is not None:
            if self._items is None:
                self._items = list(self._list_items())
            if number < len(self._items):
                item = self._items[number]
                return item, 2, item.offset
        return self._root, 0, None

    def _list_items(self) -> Iterator[Start]:
        _, array = self._members(self._root.offset).get(_ITEMS, (0, self._root.offset))
        if self._text[array] != "[":
            return
        before = self._root
        for at, _ in _array_items(self._text, array):
            before = self._start(before, at)
            yield before

    def _start(self, before: Start, at: int) -> Start:
        """Return the place of an offset after a known one."""
        lines = self._text.count("\n", before.offset, at)
        if not lines:
            return Start(before.line, before.column + at - before.offset, at)
        column = at - 1 - self._text.rfind("\n", before.offset, at)
        return Start(before.line + lines, column, at)

    def _members(self, at: int) -> dict[str, tuple[int, int]]:
        """Return where each member of the container at an offset begins, key and value."""
        if self._text[at] not in "{[":
            return {}
        found = self._containers.get(at)
        if found is None:
            if len(self._containers) >= _CACHED_CONTAINERS:
                self._containers.clear()
            found = self._containers[at] = _container(self._text, at)
        return found


def _container(text: str, at: int) -> dict[str, tuple[int, int]]:
    if text[at] == "[":
        items = _array_items(text, at)
        return {str(number): (start, start) for number, (start, _) in enumerate(items)}
    members: dict[str, tuple[int, int]] = {}
    at = _content_at(text, at + 1)
    while text[at] != "}":
        key, after = scanstring(text, at + 1)
        value = _content_at(text, _content_at(text, after) + 1)
        members[key] = (at, value)
        at = _content_at(text, _skip(text, value)[1])
        at = _content_at(text, at + 1) if text[at] == "," else at
    return members


def _array_items(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each item of the array at an offset."""
    at = _content_at(text, at + 1)
    while text[at] != "]":
        end = _skip(text, at)[1]
        yield at, end
        at = _content_at(text, end)
        at = _content_at(text, at + 1) if text[at] == "," else at


def _content_at(text: str, at: int) -> int:
    """Return the offset of the next character that is no white space."""
    return int(WHITESPACE.match(text, at).end())


_DECODER: Any = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_skip: Final = _DECODER.scan_once
"""Return the value at an offset, and its end."""
