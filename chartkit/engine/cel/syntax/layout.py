"""Documents of text with places to break lines, laid out within a width.

A `Group` stands on one line where it fits with what follows it up to the next place to break;
otherwise all its own places break, and its inner groups are tried one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Line:
    """A place to break; flat: its text where the group stands on one line, None to break always."""

    flat: str | None


@dataclass(frozen=True, slots=True)
class Joined:
    """Documents one after the other.

    forced: a line breaks in any case; breakable: there is a place to break.
    """

    parts: tuple[Document, ...]
    forced: bool
    breakable: bool


@dataclass(frozen=True, slots=True)
class Nest:
    """A document whose further lines are indented by one more step."""

    inner: Joined


@dataclass(frozen=True, slots=True)
class Group:
    """A document that breaks as a whole or not at all."""

    inner: Joined


Document: TypeAlias = str | Line | Joined | Nest | Group

LINE: Final = Line(" ")
SOFT: Final = Line("")
HARD: Final = Line(None)


def joined(*parts: Document) -> Joined:
    """Return documents as one."""
    return Joined(parts, any(map(_is_forced, parts)), any(map(is_breakable, parts)))


def nest(*parts: Document) -> Nest:
    """Return documents as one, indented by one step."""
    return Nest(joined(*parts))


def group(*parts: Document) -> Group:
    """Return documents as one group."""
    return Group(joined(*parts))


def separated(separator: str, parts: Sequence[Document]) -> tuple[Document, ...]:
    """Return documents with the separator and a place to break behind each but the last."""
    spread: list[Document] = []
    for part in parts:
        spread += [separator, LINE] if spread else []
        spread.append(part)
    return tuple(spread)


def is_breakable(document: Document) -> bool:
    """Return whether a document has a place to break."""
    match document:
        case str():
            return False
        case Line():
            return True
        case Joined():
            return document.breakable
        case _:
            return document.inner.breakable


def _is_forced(document: Document) -> bool:
    match document:
        case str():
            return False
        case Line():
            return document.flat is None
        case Joined():
            return document.forced
        case _:
            return document.inner.forced


_Pending: TypeAlias = list[tuple[int, bool, Document]]
"""Documents still to be written, the next one last: depth, whether lines break, document."""


def render(document: Document, width: float, indent: int) -> str:
    """Return the text of a document; indent: the spaces of one step."""
    written: list[str] = []
    column = 0
    pending: _Pending = [(0, True, document)]
    while pending:
        depth, broken, part = pending.pop()
        match part:
            case str():
                written.append(part)
                column += len(part)
            case Line(flat) if broken or flat is None:
                column = depth * indent
                written.append("\n" + " " * column)
            case Line(flat):
                pending.append((depth, broken, flat or ""))
            case Joined():
                pending += [(depth, broken, each) for each in reversed(part.parts)]
            case Nest():
                pending.append((depth + 1, broken, part.inner))
            case Group():
                if broken and not part.inner.forced:
                    broken = not _fits(width - column, part.inner, pending)
                pending.append((depth, broken, part.inner))
    return "".join(written)


def _fits(room: float, inner: Joined, behind: _Pending) -> bool:
    """Return whether a group fits on the line with what follows it up to a place to break."""
    rest: list[Document] = [inner]
    position, inside = len(behind), True
    while room >= 0:
        if not rest:
            if position == 0:
                return True
            position -= 1
            inside = False
            rest.append(behind[position][2])
            continue
        part = rest.pop()
        match part:
            case str():
                room -= len(part)
            case Line():
                if not inside or part.flat is None:
                    return True
                room -= len(part.flat)
            case Joined():
                rest += reversed(part.parts)
            case _:
                rest.append(part.inner)
    return False
