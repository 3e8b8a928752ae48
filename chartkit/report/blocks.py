"""The blocks of a report for people, which text and Markdown each show in their own way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from chartkit.report.markdown import markdown_table
from chartkit.report.text.layout import Screen, fold, table
from chartkit.safe_text import markdown_block, markdown_cell, markdown_rows

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. level: from 1, the title, downwards."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below a head; is_markup: whether the cells are Markdown already."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_markup: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list of lines."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that stay as they are, however long they are."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Markup:
    """A paragraph of Markdown."""

    text: str


Block: TypeAlias = str | Heading | Table | Items | Code | Markup
"""A line of text, or one of these."""


def text_of(blocks: Iterable[Block], screen: Screen) -> Iterator[str]:
    """Yield blocks as text: lines are folded at the width of the screen, and have no colours where
    it shows none."""
    for block in blocks:
        text = "\n".join(_lines(block, screen.width))
        if not isinstance(block, Code):
            text = fold(text, screen.width)
        yield f"{text if screen.colour else _COLOUR.sub('', text)}\n"


def _lines(block: Block, width: int | None) -> Iterable[str]:
    match block:
        case Table(head, rows):
            return table([head, *rows], width)
        case Items(lines) | Code(lines):
            return lines
        case Heading(text) | Markup(text) | text:
            return [text]


def markdown_of(blocks: Iterable[Block]) -> str:
    """Return blocks as Markdown, with an empty line between them."""
    return "\n".join(map(_markdown, blocks))


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {markdown_cell(text)}\n"
        case Table(head, rows, is_markup):
            return markdown_rows(head, rows) if is_markup else markdown_table(head, rows)
        case Items(lines):
            return "".join(f"- {markdown_cell(line)}\n" for line in lines)
        case Code(lines):
            return "\n".join([*markdown_block(lines), ""])
        case Markup(text):
            return f"{text}\n"
        case text:
            return f"{markdown_cell(text)}\n"
