"""Documents inside documents: a mapping below a key, or the text of a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chartkit.documents.places import Extent
from chartkit.documents.reader import Document, Source, read_text
from chartkit.model import Json, Location, Places, pointer_of, pointer_steps

_NOWHERE = Extent(0, 0, 1)


@dataclass(frozen=True, slots=True)
class EmbeddedDocument(Document):
    """A mapping in another document, whose places are that one's. prefix: where it is there."""

    outer: Places
    prefix: tuple[str, ...]

    def locate(self, *path: str | int) -> Location:
        """Return the location of a value in the outer document, its path the inner one."""
        location = self.outer.locate(*self.prefix, *path)
        steps = pointer_steps(location.path)[len(self.prefix) :]
        return replace(location, path=pointer_of(*steps), places=self)

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        """Return the lines around one of the outer document."""
        return self.outer.excerpt(line)


@dataclass(frozen=True, slots=True)
class EmbeddedText(Document):
    """A document that is the text of a value in another one. prefix: of that value."""

    outer: Places
    prefix: tuple[str, ...]

    def locate(self, *path: str | int) -> Location:
        """Return the location of a value in the outer document, its path the inner one."""
        inner = Document.locate(self, *path)
        lines = self.source.text.split("\n")
        offset = sum(len(line) + 1 for line in lines[: inner.line - 1])
        location = self.outer.character(offset + max(inner.column - 1, 0), *self.prefix)
        return replace(location, path=inner.path, places=self)

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        """Return the lines around one of the outer document."""
        return self.outer.excerpt(line)


def embedded_mapping(body: Json, file: str, outer: Places, prefix: Sequence[str]) -> Document:
    """Return the value at a path of a document as a document."""
    return EmbeddedDocument(body, Source(file, ""), _NOWHERE, outer, tuple(prefix))


def embedded_text(text: str, file: str, outer: Places, prefix: Sequence[str]) -> Document | None:
    """Return the first document of a text at a path of another; None for an empty one. Raise
    InputError, at the place of the text."""
    documents = read_text(text, file)
    if not documents:
        return None
    first = documents[0]
    return EmbeddedText(first.body, first.source, first.extent, outer, tuple(prefix))
