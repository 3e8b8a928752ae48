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


class Found(NamedTuple):
    """The place of a path: how many of its steps exist, and the line and column (from 1) of the key
    or item that the last of them is; 0 without any."""

    steps: int
    line: int = 0
    column: int = 0


class _Part(NamedTuple):
    """The place of a key or item. offset, line, column: of it, the line from 1 and the column from
    0; after: where its value may begin; end: of the lines that may belong to it."""

    offset: int
    line: int
    column: int
    after: int
    end: int


class _Container(NamedTuple):
    """The lines of a container. begin: of its first key or dash, in a column; end: of the lines;
    line: of the offset from which lines are counted."""

    begin: int
    column: int
    end: int
    offset: int
    line: int


class BlockPlaces:
    """The places in one document; line: of its first value."""

    __slots__ = ("_containers", "_end", "_items", "_parts", "_text")

    def __init__(self, text: str, start: int, end: int, line: int, items: Sequence[Start]) -> None:
        """items: where those of a List begin."""
        self._text = text
        self._end = end
        self._items = items
        marked = text.startswith("---", start)
        first = FIRST.search(text, start + 3 if marked else text.rfind("\n", 0, start) + 1, end)
        assert first is not None
        at, column = first.end() - 1, first.end() - 1 - first.start()
        root = _Container(at, column, end, at, line)
        self._parts: dict[tuple[str, ...], _Part | None] = {(): _Part(at, line, column, at, end)}
        self._containers: dict[tuple[str, ...], _Container | None] = {(): root}

    def find(self, path: Sequence[str]) -> Found:
        steps = tuple(path)
        while (part := self._part(steps)) is None:
            steps = steps[:-1]
        return Found(len(steps), part.line, part.column + 1) if steps else Found(0)

    def _part(self, path: tuple[str, ...]) -> _Part | None:
        known = self._parts
        if path in known:
            return known[path]
        *_, step = path
        if len(path) == 2 and self._items and path[0] == "items":
            found = self._item(step)
        else:
            above = self._container(path[:-1])
            if above is None:
                found = None
            elif self._text[above.begin] == "-":
                # No key begins with a dash.
                found = self._nth(above, step)
            else:
                found = self._member(above, step)
        known[path] = found
        return found

    def _container(self, path: tuple[str, ...]) -> _Container | None:
        """Return the container that the key or item at a path holds."""
        known = self._containers
        if path not in known:
            part = self._part(path)
            known[path] = None if part is None else self._inside(part)
        return known[path]

    def _inside(self, part: _Part) -> _Container | None:
        text, end, offset = self._text, part.end, part.offset
        if part.after == offset:
            if _ITEM_KEY.match(text, offset) is None:
                return None
            return _Container(offset, part.column, end, offset, part.line)
        line_end = text.find("\n", part.after, end)
        if line_end < 0 or text[part.after : line_end].strip(" "):
            return None
        first = FIRST.search(text, line_end, end)
        if first is None:
            return None
        begin, column = first.end() - 1, first.end() - 1 - first.start()
        if column < part.column or (column == part.column and text[begin] != "-"):
            return None
        following = _after(part.column).search(text, begin, end)
        last = end if following is None else following.start() + 1
        return _Container(begin, column, last, offset, part.line)

    def _item(self, step: str) -> _Part | None:
        """Return an item of a List."""
        number = item_number(step)
        if number is None or number >= len(self._items):
            return None
        start = self._items[number]
        following = self._items[number + 1 : number + 2]
        end = following[0].offset if following else self._end
        return _Part(start.offset, start.line, start.column, start.offset, end)

    def _nth(self, above: _Container, step: str) -> _Part | None:
        """Return an item of a list."""
        number = item_number(step)
        if number is None:
            return None
        text, at = self._text, above.begin
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
        return _Part(begin, line, above.column + begin - at, begin, last)

    def _member(self, above: _Container, step: str) -> _Part | None:
        """Return a key of a mapping, of equal ones the last."""
        if not _is_key(step):
            return None
        text, begin, column = self._text, above.begin, above.column
        at = text.rfind(f"\n{' ' * column}{step}:", begin, above.end)
        if at >= 0:
            at += 1 + column
        elif text.startswith(f"{step}:", begin):
            at = begin
        else:
            return None
        line = above.line + text.count("\n", above.offset, at)
        return _Part(at, line, column, at + len(step) + 1, above.end)


@lru_cache(maxsize=64)
def _after(column: int) -> re.Pattern[str]:
    """Return a pattern of the line that ends the value of a key in a column."""
    left = rf" {{0,{column - 1}}}[^ \n#]|" if column else ""
    return re.compile(rf"\n(?:{left} {{{column}}}[^ \n#-])")


@lru_cache(maxsize=4096)
def _is_key(text: str) -> bool:
    """Return whether a text may be a key as it stands."""
    return _KEY.fullmatch(text) is not None


_KEY: Final = re.compile(KEY)
