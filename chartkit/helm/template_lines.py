"""The lines of a template: which of them give lines of the manifest, and from which value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from chartkit.helm.syntax import CLOSE, OPEN, Action, Path, read_action, terms

_MARK: Final = " #chartkit:{}:{}"
_MARKED: Final = re.compile(r" #chartkit:(\d+):(\d+)\b")
_TRIMMED: Final = "-}}"
_BLOCKS: Final = frozenset({"if", "with", "range", "define", "block"})
_DEFINES: Final = frozenset({"define", "block"})
_VALUES: Final = "Values"

Dot = tuple[str, ...] | None
"""The path of `.` below the chart's root; None where a line alone does not tell."""


@dataclass(slots=True)
class TemplateLine:
    """One line of a template.

    number: from 1; text: as it is written; depth: the blocks that are open where it begins;
    content: true if it gives text by itself; is_open: true if an action goes on in the next line;
    is_defined: true inside `define`; reads: the paths of what its values read, below the chart's
    root, None where they are unknown.
    """

    number: int
    text: str
    depth: int = 0
    content: bool = False
    is_open: bool = False
    is_defined: bool = False
    reads: list[Dot] = field(default_factory=list)

    @property
    def can_be_marked(self) -> bool:
        """True if a comment at its end stays at the end of what it gives."""
        text = self.text.strip()
        ends = not text.endswith(_TRIMMED) and not text.startswith(("#", "---"))
        return self.content and ends and not self.is_open and not self.is_defined

    @property
    def value_key(self) -> tuple[str, ...] | None:
        """The path of the one value of the chart that the line gives; None for none or several."""
        reads = set(self.reads)
        only = reads.pop() if len(reads) == 1 else None
        return only[1:] if only is not None and len(only) > 1 and only[0] == _VALUES else None


def template_lines(text: str) -> list[TemplateLine]:
    """Return the lines of a template."""
    lines = [TemplateLine(number, line) for number, line in enumerate(text.split("\n"), 1)]
    _Reader(text, lines).read()
    return lines


def marked(text: str, file: int, passed_over: Collection[int]) -> str:
    """Return a template whose lines end with comments that name file and line. passed_over: the
    numbers of lines that stay as they are."""
    return "\n".join(
        line.text + _MARK.format(file, line.number)
        if line.can_be_marked and line.number not in passed_over
        else line.text
        for line in template_lines(text)
    )


def marks(text: str) -> list[tuple[int, int]]:
    """Return the marks in a text, as file and line."""
    return [(int(file), int(line)) for file, line in _MARKED.findall(text)]


class _Reader:
    """A walk over the actions of a template, with the blocks that are open."""

    def __init__(self, text: str, lines: list[TemplateLine]) -> None:
        self._text = text
        self._lines = lines
        self._blocks: list[tuple[str, Dot]] = []
        self._line = 0

    def read(self) -> None:
        """Fill in the lines."""
        position = 0
        for start, end, action in _actions(self._text):
            self._literal(position, start)
            dot: Dot = self._blocks[-1][1] if self._blocks else ()
            for _ in range(self._text.count("\n", start, end)):
                self._lines[self._line].is_open = True
                self._next_line()
            line = self._lines[self._line]
            if action is None:
                line.content = True
                line.reads.append(None)
            elif action.keyword in _BLOCKS:
                self._blocks.append((action.keyword, _inside(action, dot)))
                line.is_defined |= action.keyword in _DEFINES
            elif action.keyword == "end":
                self._blocks[-1:] = []
            elif action.keyword.startswith("else"):
                if self._blocks:
                    outer: Dot = self._blocks[-2][1] if len(self._blocks) > 1 else ()
                    inside = None if action.keyword == "else with" else outer
                    self._blocks[-1] = (self._blocks[-1][0], inside)
            elif action.keyword == "template":
                line.content = True
                line.reads.append(None)
            elif not action.keyword and not action.declares:
                line.content = True
                for term in terms(action.value):
                    if isinstance(term, Path):
                        line.reads.append(_resolved(term, dot))
                    elif hasattr(term, "fields") and term.fields:
                        line.reads.append(None)
            position = end
        self._literal(position, len(self._text))

    def _literal(self, start: int, end: int) -> None:
        for number, part in enumerate(self._text[start:end].split("\n")):
            if number:
                self._next_line()
            if part.strip():
                self._lines[self._line].content = True

    def _next_line(self) -> None:
        self._line += 1
        self._lines[self._line].depth = len(self._blocks)
        self._lines[self._line].is_defined = any(word in _DEFINES for word, _ in self._blocks)


def _actions(text: str) -> Iterator[tuple[int, int, Action | None]]:
    """Yield the beginning and end of each action, and what it says as far as it can be read."""
    position = text.find(OPEN)
    while position >= 0:
        action = read_action(text, position)
        close = text.find(CLOSE, position)
        end = action.end if action else (close + len(CLOSE) if close >= 0 else len(text))
        yield position, end, action
        position = text.find(OPEN, end)


def _inside(action: Action, dot: Dot) -> Dot:
    if action.keyword == "if":
        return dot
    if action.keyword == "with" and isinstance(action.value, Path):
        return _resolved(action.value, dot)
    return None


def _resolved(path: Path, dot: Dot) -> Dot:
    if path.root == "$":
        return path.fields
    return None if path.root or dot is None else (*dot, *path.fields)
