"""The place of a cursor in YAML that need not be whole: keys by their indentation.

Templates of charts are read so, too: a line of a template that is an action alone is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

_LINE: Final = re.compile(
    r"(?P<before> *(?:- +)*)(?P<dash>-$)?"
    r"(?:(?P<quote>[\"']?)(?P<key>[^\s#'\"{}\[\],&*!|>%@`:][^#'\"{}]*?)(?P=quote) *:"
    r"(?P<value> .*|$))?"
)
_WORD: Final = re.compile(r"[\w.]+")
_TYPE: Final = re.compile(r"(apiVersion|kind): *[\"']?([\w./-]+)")
_MOST_LINES: Final = 5_000
"""The lines above a cursor that are looked at."""
_VARIABLE: Final = re.compile(r"\{\{((?!\}\}).)*$")
Step = str | int


class _Line(NamedTuple):
    """The keys and items of a line. dashes: the columns of items that begin in it; column: of the
    key, or of what is in the last item; value: what is behind the key."""

    dashes: tuple[int, ...]
    column: int
    key: str = ""
    value: str = ""

    @property
    def start(self) -> int:
        """The column of the first key or item."""
        return self.dashes[0] if self.dashes else self.column


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a document. above: the keys and items that it is in; key: of its line, empty
    without one; in_value: whether it is behind the key; in_variable: whether it is inside `{{ }}`;
    word: the name that it touches; siblings: the other keys of the mapping; types: `apiVersion` and
    `kind` of the document."""

    above: tuple[Step, ...]
    key: str
    in_value: bool
    in_variable: bool
    word: str
    siblings: frozenset[str]
    types: tuple[str, str]

    @property
    def path(self) -> tuple[Step, ...]:
        """The path of the line's key, or of what the line is in."""
        return (*self.above, self.key) if self.key else self.above


def cursor_at(lines: Sequence[str], row: int, column: int) -> Cursor:
    """Return the place at a line and a column, from 0; column: in characters."""
    text = lines[row] if row < len(lines) else ""
    column = min(column, len(text))
    indent = len(text) - len(text.lstrip()) if text.strip() else column
    line = _read(text) or _Line((), indent)
    behind = len(text) - len(line.value)
    in_value = bool(line.key) and column >= behind and (column > behind or not line.value)
    words = (match for match in _WORD.finditer(text) if match.start() <= column <= match.end())
    word = next((match[0] for match in words), "")
    siblings, types = frozenset(_siblings(lines, row, line)), _types(lines, row)
    path: list[Step] = []
    limit, index = line.column, -1
    own = line._replace(key="")
    for other in (own, *filter(None, map(_read, _lines_from(lines, row, -1)))):
        is_above = other.column < limit or (other.column == limit and index >= 0)
        if other.key and is_above:
            path += [index, other.key] if index >= 0 else [other.key]
            limit, index = other.column, -1
        for dash in reversed(other.dashes):
            if dash < limit:
                path += [index] if index >= 0 else []
                limit, index = dash, 0
            elif dash == limit and index >= 0:
                index += 1
    path += [index] if index >= 0 else []
    above = tuple(reversed(path))
    in_variable = _VARIABLE.search(text[:column]) is not None
    return Cursor(above, line.key, in_value, in_variable, word, siblings, types)


def _read(text: str) -> _Line | None:
    """Return the keys and items of a line; None for one without any."""
    match = _LINE.match(text)
    if match is None or (match["key"] is None and "-" not in match[0]):
        return None
    begin = match["before"] + ("- " if match["dash"] else "")
    dashes = tuple(at for at, letter in enumerate(begin) if letter == "-")
    return _Line(dashes, len(begin), match["key"] or "", match["value"] or "")


def _lines_from(lines: Sequence[str], row: int, direction: int) -> Iterator[str]:
    """Yield the lines of a document above or below one that are neither empty nor comments nor
    actions of a template alone."""
    for at in range(row + direction, row + direction * _MOST_LINES, direction):
        if not 0 <= at < len(lines) or lines[at].startswith("---"):
            return
        if (content := lines[at].strip()) and not content.startswith(("#", "{{")):
            yield lines[at]


def _siblings(lines: Sequence[str], row: int, line: _Line) -> Iterator[str]:
    """Yield the other keys of the mapping that a line is in."""
    for direction in (1,) if line.dashes else (1, -1):
        for other in filter(None, map(_read, _lines_from(lines, row, direction))):
            if (
                other.key
                and other.column == line.column
                and not (direction > 0 and other.start < line.column)
            ):
                yield other.key
            if other.start < line.column:
                break


def _types(lines: Sequence[str], row: int) -> tuple[str, str]:
    """Return the version and the kind of the document that a line is in."""
    types = dict[str, str]()
    own = (lines[row],) if row < len(lines) else ()
    for text in (*own, *_lines_from(lines, row, -1), *_lines_from(lines, row, 1)):
        if match := _TYPE.match(text):
            types.setdefault(match[1], match[2])
    return types.get("apiVersion", ""), types.get("kind", "")
