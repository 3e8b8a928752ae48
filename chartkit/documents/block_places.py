"""Places in YAML in plain block style (`block_style`): lines that begin with a key or a dash in a
known column are looked for, and nothing is parsed.

A line of a text is never taken for one of these: it begins farther to the right than what it
belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from chartkit.documents.block_style import FIRST, KEY
from chartkit.documents.yaml_builder import Start
from chartkit.model import item_number

_ITEM_KEY: Final = re.compile(rf"{KEY}:(?=[ \n]|\Z)")
_KEY: Final = re.compile(KEY)


class Found(NamedTuple):
    """The place of a path: how many of its steps exist, and the line and column (from 1) of the key
    or item that the last of them is; 0 without any."""

    steps: int
    line: int = 0
    column: int = 0


class _Container(NamedTuple):
    """The lines of a container. begin: of its first key or dash, in a column; end: of the lines;
    line: of the offset from which lines are counted."""

    begin: int
    column: int
    end: int
    offset: int
    line: int


_NOTHING: Final = Found(0)
_UNKNOWN: Final = _Container(-1, -1, -1, -1, -1)


class _Node:
    """A key or item. offset, line, column: of it, the line from 1 and the column from 0; after:
    where its value may begin; end: of the lines that may belong to it; container: that it holds,
    as far as it is known; below: the keys or items
    that were looked for in it, None for one that is not there."""

    __slots__ = ("after", "below", "column", "container", "end", "line", "offset")

    def __init__(self, offset: int, line: int, column: int, after: int, end: int) -> None:
        self.offset = offset
        self.line = line
        self.column = column
        self.after = after
        self.end = end
        self.below: dict[str, _Node | None] = {}
        self.container: _Container | None = _UNKNOWN

    def inside(self, text: str) -> _Container | None:
        """Return the container that it holds."""
        if self.container is _UNKNOWN:
            self.container = _container(text, self)
        return self.container


class BlockPlaces:
    """The places in one document; line: of its first value."""

    __slots__ = ("_end", "_items", "_known_items", "_root", "_text")

    def __init__(self, text: str, start: int, end: int, line: int, items: Sequence[Start]) -> None:
        """items: the starts of the items of a List."""
        self._text = text
        self._end = end
        self._items = items
        self._known_items: dict[str, _Node | None] = {}
        marked = text.startswith("---", start)
        first = FIRST.search(text, start + 3 if marked else text.rfind("\n", 0, start) + 1, end)
        assert first is not None
        at, column = first.end() - 1, first.end() - 1 - first.start()
        self._root = _Node(at, line, column, at, end)
        self._root.container = _Container(at, column, end, at, line)

    def find(self, path: Sequence[str]) -> Found:
        node, reached = self._root, 0
        if self._items and len(path) > 1 and path[0] == "items":
            # What is not an item of the List is below none of its other lines, either.
            step = path[1]
            items = self._known_items
            if step not in items:
                items[step] = self._numbered(step)
            item = items[step]
            node, reached = (node, 0) if item is None else (item, 2)
            path = path[:1] if item is None else path[2:]
        for step in path:
            below = node.below
            if step in below:
                following: _Node | None = below[step]
            else:
                text = self._text
                above = node.inside(text)
                if above is None:
                    child = None
                elif text[above.begin] == "-":
                    # No key begins with a dash.
                    child = _nth(text, above, step)
                else:
                    child = _member(text, above, step)
                node.below[step] = child
                following = child
            if following is None:
                break
            node = following
            reached += 1
        return Found(reached, node.line, node.column + 1) if reached else _NOTHING

    def _numbered(self, step: str) -> _Node | None:
        number = item_number(step)
        if number is None or number >= len(self._items):
            return None
        start = self._items[number]
        following = self._items[number + 1 : number + 2]
        end = following[0].offset if following else self._end
        return _Node(start.offset, start.line, start.column, start.offset, end)


def _container(text: str, node: _Node) -> _Container | None:
    """Return the container that a key or item holds."""
    end, offset = node.end, node.offset
    if node.after == offset:
        if _ITEM_KEY.match(text, offset) is None:
            return None
        return _Container(offset, node.column, end, offset, node.line)
    line_end = text.find("\n", node.after, end)
    if line_end < 0 or text[node.after : line_end].strip(" "):
        return None
    first = FIRST.search(text, line_end, end)
    if first is None:
        return None
    begin, column = first.end() - 1, first.end() - 1 - first.start()
    if column < node.column or (column == node.column and text[begin] != "-"):
        return None
    following = _after(node.column).search(text, begin, end)
    last = end if following is None else following.start() + 1
    return _Container(begin, column, last, offset, node.line)


def _nth(text: str, above: _Container, step: str) -> _Node | None:
    """Return an item of a list."""
    number = item_number(step)
    if number is None:
        return None
    at = above.begin
    dash = f"\n{' ' * above.column}- "
    for _ in range(number):
        at = text.find(dash, at, above.end) + 1
        if not at:
            return None
        at += above.column
    end = text.find(dash, at, above.end)
    begin = at + 1
    while text[begin] == " ":
        begin += 1
    line = above.line + text.count("\n", above.offset, at)
    last = above.end if end < 0 else end + 1
    return _Node(begin, line, above.column + begin - at, begin, last)


def _member(text: str, above: _Container, step: str) -> _Node | None:
    """Return a key of a mapping, of equal ones the last."""
    if not _is_key(step):
        return None
    begin, column = above.begin, above.column
    at = text.rfind(f"\n{' ' * column}{step}:", begin, above.end)
    if at >= 0:
        at += 1 + column
    elif text.startswith(f"{step}:", begin):
        at = begin
    else:
        return None
    line = above.line + text.count("\n", above.offset, at)
    return _Node(at, line, column, at + len(step) + 1, above.end)


@lru_cache(maxsize=64)
def _after(column: int) -> re.Pattern[str]:
    """Return a pattern of the line that ends the value of a key in a column."""
    left = rf" {{0,{column - 1}}}[^ \n#]|" if column else ""
    return re.compile(rf"\n(?:{left} {{{column}}}[^ \n#-])")


@lru_cache(maxsize=4096)
def _is_key(text: str) -> bool:
    """Report whether a text may be a key as it stands."""
    return _KEY.fullmatch(text) is not None
