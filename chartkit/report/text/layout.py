"""The layout of text: lines and tables that fit the terminal that shows them, and notes and
warnings of one kind as one line each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple

import click

from chartkit.model import Diagnostic, Severity

_GAP: Final = "  "
_INDENT: Final = "    "
_NARROW: Final = 24
"""The fewest columns to fold the last cell of a table in; with less it goes below its row."""
_WORD: Final = re.compile(r" *[^ ]+")
_MOST_ALONE: Final = 2
"""The notes of one kind that have a line each."""
OBJECT_RULE: Final = "object-fields"
"""The rule of warnings about kinds and fields, which have a line each."""
_NAMES: Final = re.compile(r"^[\w.-]+: |'[^']*'|\S*[/.]\S+|\d+")
"""Names first or in quotes, paths and numbers, which differ between notes of one kind."""
_IN_GROUPS: Final = frozenset((Severity.NOTE, Severity.WARNING))


class Screen(NamedTuple):
    """The destination of text. colour: whether it shows colours; width: its columns, None for a
    file or a pipe, where no line is folded."""

    colour: bool = False
    width: int | None = None


PLAIN: Final = Screen()
"""A file or a pipe."""


def columns(text: str) -> int:
    """Return the columns that a terminal shows a line in: two for a wide character."""
    text = click.unstyle(text)
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fold(text: str, width: int | None) -> str:
    """Return a text whose lines fit a width: longer ones go on at a blank, indented below their
    start. A longer word, such as a path, stays whole."""
    if width is None:
        return text
    lines = text.split("\n")
    return "\n".join(part for line in lines for part in _folded(line, width))


def _folded(line: str, width: int, indent: str = _INDENT) -> Iterator[str]:
    """Yield the parts of a line."""
    if columns(line) <= width:
        yield line
        return
    start = line[: len(line) - len(line.lstrip(" "))]
    part, used = "", 0
    for word in _WORD.findall(line):
        size = columns(word)
        if part.strip() and used + size > width:
            yield part
            part = start + indent
            word, used = word.lstrip(" "), len(part)
            size = columns(word)
        part += word
        used += size
    yield part


def table(rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Return the lines of a table, whose first row has the headings.

    Columns of numbers, with dashes among them, are aligned to the right. Where rows do not fit the
    width, the last cell is folded in its column; where that column would be narrow, the cells that
    do not fit go below the others. A line break in the last cell starts a line in its column.
    """
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    whole = len(widths)
    kept = whole if width is None else _kept(widths, width)
    numeric = [_is_numeric([row[at] for row in rows[1:]]) for at in range(whole)]
    lines: list[str] = []
    for row in rows:
        cells = [_aligned(*cell) for cell in zip(row, widths, numeric, strict=True)]
        if kept == whole:
            start = "".join(f"{cell}{_GAP}" for cell in cells[:-1])
            lines += _last(start, cells[-1] if numeric[-1] else row[-1], width)
        else:
            lines.append(_GAP.join(cells[:kept]).rstrip())
            below = _GAP.join(cell for cell in row[kept:] if cell)
            lines += fold(_INDENT + below.replace("\n", f"\n{_INDENT}"), width).split("\n")
    return lines


def _is_numeric(cells: Sequence[str]) -> bool:
    return any(map(str.isdigit, cells)) and all(cell.isdigit() or cell == "-" for cell in cells)


def _kept(widths: Sequence[int], width: int) -> int:
    """Return the number of columns next to each other; the first always is."""
    gap = len(_GAP)
    before = sum(widths[:-1]) + gap * (len(widths) - 1)
    if before + min(widths[-1], _NARROW) <= width:
        return len(widths)
    kept, used = 1, widths[0]
    while kept < len(widths) - 1 and used + gap + widths[kept] <= width:
        used += gap + widths[kept]
        kept += 1
    return kept


def _aligned(cell: str, width: int, is_number: bool) -> str:
    blanks = " " * (width - columns(cell))
    return f"{blanks}{cell}" if is_number else f"{cell}{blanks}"


def _last(start: str, cell: str, width: int | None) -> Iterator[str]:
    """Yield the lines of a row: its start, then its last cell in its column."""
    indent = " " * columns(start)
    for line in cell.split("\n"):
        parts = [line] if width is None else _folded(line, width - len(indent), "")
        for part in parts:
            yield f"{start}{part}".rstrip()
            start = indent


def grouped(
    rows: Iterable[Diagnostic],
    lists_all: bool = False,
    severities: Collection[Severity] = _IN_GROUPS,
    more: str = "--detailed",
) -> Iterator[Diagnostic]:
    """Yield notes and warnings with one line for more than two that say the same of several places,
    where the first of them stands; rows of other severities stay as they are. lists_all: whether
    all do; more: the option that lists all."""
    groups: dict[object, list[Diagnostic]] = {}
    for row in rows:
        single = lists_all or row.severity not in severities or row.rule_id == OBJECT_RULE
        said = (row.rule_id, row.severity, _NAMES.sub("", row.message))
        groups.setdefault(id(row) if single else said, []).append(row)
    for group in groups.values():
        if len(group) <= _MOST_ALONE:
            yield from group
        else:
            more_words = f"{more} lists all"
            first, *others = group
            located = dict.fromkeys(str(other.location) for other in others if other.location)
            places = [location for location in located if location != str(first.location)][:2]
            such_as = f", such as {' and '.join(places)}" if places else ""
            message = f"{first.message}; {len(others)} more of the kind{such_as}"
            hint = f"{first.hint}; {more_words}" if first.hint else more_words
            yield replace(first, message=message, hint=hint)


@contextmanager
def grouping(
    note: Callable[[Diagnostic], None], lists_all: bool = False
) -> Iterator[Callable[[Diagnostic], None]]:
    """Give a function that takes notes; at the end, call note with them as `grouped` has them."""
    rows: list[Diagnostic] = []
    try:
        yield rows.append
    finally:
        for row in grouped(rows, lists_all):
            note(row)
