"""The place of a cursor in YAML that need not be whole: keys by their indentation.

Templates of charts are read so, too: a line of a template that is an action alone is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(
    r"(?P<before> *(?:- +)*)(?P<dash>-$)?"
    r"(?:(?P<quote>[\"']?)(?P<key>[^\s#'\"{}\[\],&*!|>%@`:][^#'\"{}]*?)(?P=quote) *:"
    r"(?P<value> .*|$))?"
)
_WORD: Final = re.compile(r"[\w.]+")
_TYPE: Final = re.compile(r"(apiVersion|kind): *[\"']?([\w./-]+)")
_MOST_LINES: Final = 5_000
"""The lines above a cursor that are looked at."""
_EXPRESSIONS: Final = re.compile(r"\{\{((?!\}\}).)*$")
Step = str | int


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with a key or an item. dashes: the columns of items that begin in it; column: of the
    key, or of what is in the last item."""

    dashes: tuple[int, ...]
    column: int
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a document. above: the keys and items that it is in; key: of its line, empty
    without one; in_value: whether it is behind the key; word: the name that it touches; before: the
    text of its line before it; siblings: the other keys of the mapping; types: `apiVersion` and
    `kind` of the document."""

    above: tuple[Step, ...]
    key: str
    in_value: bool
    word: str
    before: str
    siblings: frozenset[str]
    types: tuple[str, str]

    @property
    def path(self) -> tuple[Step, ...]:
        """The path of the line's key, or of what the line is in."""
        return (*self.above, self.key) if self.key else self.above

    @property
    def in_variable(self) -> bool:
        """Whether it is inside `{{ }}`."""
        return _EXPRESSIONS.search(self.before) is not None


def cursor_at(lines: Sequence[str], row: int, column: int) -> Cursor:
    """Return the place at a line and a column, from 0; column: in characters."""
    text = lines[row] if row < len(lines) else ""
    column = min(column, len(text))
    line = _read(text)
    if line is None:
        indent = len(text) - len(text.lstrip()) if text.strip() else column
        line = _Line((), indent, "", "")
    behind = len(text) - len(line.value)
    in_value = bool(line.key) and column >= behind and (column > behind or not line.value)
    words = (match for match in _WORD.finditer(text) if match.start() <= column <= match.end())
    word = next((match[0] for match in words), "")
    above = _above(lines, row, line)
    siblings = frozenset({*_keys(lines, row, line.column, -1), *_keys(lines, row, line.column, 1)})
    return Cursor(above, line.key, in_value, word, text[:column], siblings, _types(lines, row))


def _read(text: str) -> _Line | None:
    """Return the keys and items of a line; None for one without any."""
    match = _LINE.match(text)
    if match is None or (match["key"] is None and "-" not in match[0]):
        return None
    begin = match["before"]
    dashes = [at for at, letter in enumerate(begin) if letter == "-"]
    if match["dash"] is not None:
        dashes.append(len(begin))
    column = len(begin) if match["dash"] is None else len(begin) + 2
    return _Line(tuple(dashes), column, match["key"] or "", match["value"] or "")


def _lines_from(lines: Sequence[str], row: int, direction: int) -> Iterator[str]:
    """Yield the lines of a document above or below one that are neither empty nor comments nor
    actions of a template alone."""
    row += direction
    count = 0
    while 0 <= row < len(lines) and count < _MOST_LINES:
        text = lines[row]
        if text.startswith("---"):
            return
        if (content := text.strip()) and not content.startswith(("#", "{{")):
            yield text
        row += direction
        count += 1


def _above(lines: Sequence[str], row: int, line: _Line) -> tuple[Step, ...]:
    """Return the keys and items that a line is in, the outermost first."""
    path: list[Step] = []
    limit, items = line.column, list(line.dashes)
    index: int | None = None
    while items:
        limit, index = items.pop(), 0
        if items:
            path.insert(0, index)
    for text in _lines_from(lines, row, -1):
        other = _read(text)
        if other is None:
            continue
        if index is not None:
            if limit in other.dashes:
                # An item before, of the same list.
                index += 1
                items = [each for each in other.dashes if each < limit]
                if not items:
                    continue
                path.insert(0, index)
                limit, index = items[-1], 0
                continue
            if other.column > limit or not other.key:
                continue
            path.insert(0, index)
            index = None
            limit = other.column + 1
        if other.column < limit and other.key:
            path.insert(0, other.key)
            limit = other.column
        elif other.column > limit or not other.dashes or other.dashes[0] >= limit:
            continue
        for dash in reversed([each for each in other.dashes if each < limit]):
            if index is not None:
                path.insert(0, index)
            limit, index = dash, 0
        if limit == 0 and index is None:
            break
    if index is not None:
        path.insert(0, index)
    return tuple(path)


def _keys(lines: Sequence[str], row: int, column: int, direction: int) -> Iterator[str]:
    """Yield the keys of the same mapping above or below a line."""
    own = _read(lines[row]) if row < len(lines) else None
    if direction < 0 and own is not None and own.dashes:
        return
    for text in _lines_from(lines, row, direction):
        line = _read(text)
        if line is None:
            continue
        if line.column < column or (line.dashes and direction > 0 and line.dashes[-1] < column):
            return
        if line.column == column and line.key:
            yield line.key
        if line.dashes and line.dashes[-1] < column:
            return


def _types(lines: Sequence[str], row: int) -> tuple[str, str]:
    """Return the version and the kind of the document that a line is in."""
    found = dict[str, str]()
    own = (lines[row],) if row < len(lines) else ()
    for text in (*own, *_lines_from(lines, row, -1), *_lines_from(lines, row, 1)):
        if match := _TYPE.match(text):
            found.setdefault(match[1], match[2])
    return found.get("apiVersion", ""), found.get("kind", "")
