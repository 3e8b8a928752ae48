"""Places in YAML and JSON that is parsed once more for them.

YAML is parsed when a place of a document is first requested; JSON is walked along the path. The
items of a List are parsed one by one: a file of 10,000 objects costs as much as those that a report
names.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from json import JSONDecoder
from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

import yaml
from yaml._yaml import CParser
from yaml.events import DocumentStartEvent, MappingEndEvent, ScalarEvent, SequenceEndEvent

from chartkit.documents.block_places import Found
from chartkit.documents.places import OTHER_BREAKS, Extent
from chartkit.documents.yaml_builder import Builder, Start
from chartkit.errors import InputError
from chartkit.model import item_number

_ITEMS: Final = "items"
_CACHED_CONTAINERS: Final = 256
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)+")
_BLOCKS: Final = ("|", ">")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "_": "\xa0"}
_WIDTHS: Final = {"x": 2, "u": 4, "U": 8}
_DECODER: Any = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_skip: Final = _DECODER.scan_once
"""Return the value at an offset, and its end."""


class _Tree(NamedTuple):
    """The places of a YAML value; root: mappings by key and lists, each member a pair of its mark
    and what it holds; line: to be added to those of marks."""

    root: Any
    line: int


class YamlFinder:
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
            at_item = Found(2, start.line, start.column + 1)
            if len(path) == len(at_item[:2]):
                return at_item
            if self._item[0] != number:
                items = self._extent.items
                start, following = items[number], items[number + 1 : number + 2]
                end = following[0].offset if following else self._extent.end
                # Padding keeps the item's indentation, and so its columns.
                text = " " * start.column + self._text[start.offset : end]
                self._item = (number, _tree(text, start.line))
            tree = self._item[1]
            if tree is not None:
                return _walk(tree, path, at_item)
        if self._whole is None:
            begin = self._extent.start
            column = begin - 1 - self._text.rfind("\n", 0, begin)
            text = " " * column + self._text[begin : self._extent.end]
            self._whole = _tree(text, self._extent.line) or _Tree(None, 0)
        return _walk(self._whole, path, Found(0))


def _tree(text: str, line: int) -> _Tree | None:
    """Return the places of a text's first value, which begins in a line; None for a text that
    cannot be read by itself: it has an alias of what is defined elsewhere."""
    if not text.isascii():
        text = text.translate(OTHER_BREAKS)
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
                whole = [item for _, item in merged] if isinstance(merged, list) else merged
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


def _walk(tree: _Tree, path: Sequence[str], root: Found) -> Found:
    """Return the place of a path in a tree; found: the place of the tree's root."""
    node, mark, steps = tree.root, None, root.steps
    for step in path[steps:]:
        if isinstance(node, dict) and step in node:
            mark, node = node[step]
        elif isinstance(node, list) and _is_item(step, node):
            mark, node = node[int(step)]
        else:
            break
        steps += 1
    if mark is None:
        return root
    row, column = mark if mark.__class__ is tuple else (mark.line, mark.column)
    return Found(steps, tree.line + row, column + 1)


class JsonFinder:
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
        base, steps, key_at = self._begin(path)
        at = base.offset
        for step in path[steps:]:
            members = self._members(at)
            if step not in members:
                break
            key_at, at = members[step]
            steps += 1
        if key_at is None:
            return Found(0)
        start = self._start(base, key_at)
        return Found(steps, start.line, start.column + 1)

    def _begin(self, path: Sequence[str]) -> tuple[Start, int, int | None]:
        """Return the start of the search: an item of a List, or the whole value."""
        number = item_number(path[1]) if len(path) > 1 and path[0] == _ITEMS else None
        if number is not None:
            if self._items is None:
                items: list[Start] = []
                _, array = self._members(self._root.offset).get(_ITEMS, (0, self._root.offset))
                if self._text[array] == "[":
                    before = self._root
                    for at, _ in _array_items(self._text, array):
                        before = self._start(before, at)
                        items.append(before)
                self._items = items
            if number < len(self._items):
                item = self._items[number]
                return item, 2, item.offset
        return self._root, 0, None

    def _start(self, before: Start, at: int) -> Start:
        """Return the place of an offset after a known one."""
        lines = self._text.count("\n", before.offset, at)
        if not lines:
            return Start(before.line, before.column + at - before.offset, at)
        column = at - 1 - self._text.rfind("\n", before.offset, at)
        return Start(before.line + lines, column, at)

    def _members(self, at: int) -> dict[str, tuple[int, int]]:
        """Return the starts of the key and value of each member of the container at an offset."""
        if self._text[at] not in "{[":
            return {}
        members = self._containers.get(at)
        if members is None:
            if len(self._containers) >= _CACHED_CONTAINERS:
                self._containers.clear()
            members = self._containers[at] = _container(self._text, at)
        return members


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
    """Return the offset of the next character other than white space."""
    return int(WHITESPACE.match(text, at).end())


def offset_in_source(raw: str, style: str | None, value: str, offset: int) -> int | None:
    """Return the offset in a scalar's source of the character at an offset of its value.

    raw: the scalar as it is written, with its quotes or block header; style: its first character,
    None or empty for a plain one. White space is not compared, for folding changes it. None where
    value and source do not agree otherwise.
    """
    begin = match.end() if (match := _PROPERTIES.match(raw)) else 0
    characters = _characters(raw[begin:], style or "")
    written = [(begin + at, letter) for at, letter in characters if not letter.isspace()]
    letters = [letter for letter in value if not letter.isspace()]
    if [letter for _, letter in written] != letters or not letters:
        return None
    before = sum(not letter.isspace() for letter in value[:offset])
    if before and not value[offset : offset + 1].strip():
        return written[before - 1][0] + 1
    return written[before][0]


def _characters(raw: str, style: str) -> Iterator[tuple[int, str]]:
    """Yield the characters of a scalar's value, each with its offset in the source."""
    if style in _BLOCKS:
        start = raw.find("\n")
        yield from enumerate(raw[start:], start) if start >= 0 else ()
    elif style == "'":
        at = 1
        while at < len(raw) - 1:
            yield at, raw[at]
            at += 2 if raw.startswith("''", at) else 1
    elif style == '"':
        at = 1
        while at < len(raw) - 1:
            if raw[at] != "\\":
                yield at, raw[at]
                at += 1
                continue
            letter = raw[at + 1]
            width = _WIDTHS.get(letter, 0)
            digits = raw[at + 2 : at + 2 + width]
            yield at, chr(int(digits, 16)) if width else _ESCAPES.get(letter, letter)
            at += 2 + width
    else:
        yield from enumerate(raw)


class Above:
    """A mapping or list whose events come; step: its key or index where they are."""

    __slots__ = ("_index", "_is_key", "_keys", "step")

    def __init__(self, is_mapping: bool) -> None:
        self._keys: set[str] | None = set() if is_mapping else None
        self._is_key = is_mapping
        self._index = -1
        self.step: str | int = ""

    def repeats(self, event: Any) -> bool:
        """Take the beginning of a key, value or item; return whether it is a key once more."""
        if self._keys is None:
            self._index += 1
            self.step = self._index
            return False
        is_key, self._is_key = self._is_key, not self._is_key
        if not is_key or not isinstance(event, yaml.ScalarEvent):
            return False
        self.step = event.value
        is_repeated = event.value in self._keys and event.value != "<<"
        self._keys.add(event.value)
        return is_repeated


class _Composer(yaml.CSafeLoader):
    """A composer of nodes for the sake of their places: it does not resolve tags."""

    def resolve(self, _kind: Any, _value: Any, _implicit: Any) -> str:
        return ""


def compose(text: str) -> yaml.Node | None:
    """Return the nodes of a text's one document, without tags; raise YAMLError."""
    loader = _Composer(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


@lru_cache(maxsize=4)
def composed(text: str) -> yaml.Node | None:
    """Return the nodes of a text's one document; None for a text that is not one."""
    with contextlib.suppress(yaml.YAMLError):
        return compose(text)
    return None


def child(node: Any, step: str) -> yaml.Node | None:
    """Return the node of a key or an index; None where the node has no such child."""
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in reversed(node.value) if key.value == step), None)
    index = item_number(step)
    if isinstance(node, yaml.SequenceNode) and index is not None:
        return next(iter(node.value[index : index + 1]), None)
    return None
