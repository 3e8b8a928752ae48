"""The parser of YAML and JSON: documents as Kubernetes reads them, each value with its location.

Scalars follow sigs.k8s.io/yaml (YAML 1.1 through JSON): `yes`, `on` and `y` are booleans, `010` is
8, `1.0` is 1, dates are strings, the last of two equal keys wins, merge keys work. Positions are
not recorded while parsing, which keeps it fast: `Document.locate` finds them again (`places`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import yaml

from chartkit.documents import input_files
from chartkit.documents.block_style import read_documents
from chartkit.documents.places import Extent, extents, finder
from chartkit.documents.yaml_builder import build_documents
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location, Places, Resource, pointer_of

_LIST_SUFFIX = "List"
_TYPE = ("apiVersion", "kind")
_MAPPING = "expected a mapping"
_AROUND = 2
"""The lines above and below one that an excerpt has."""


class Source(NamedTuple):
    """A text and its name in messages; lines: of the file before it, where it is a part."""

    file: str
    text: str
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Document(Places):
    """One document of YAML or JSON: its value, the text that contains it, and its part of that."""

    body: Json
    source: Source
    extent: Extent

    @property
    def start(self) -> int:
        """The characters of the text before the document."""
        return self.extent.start

    @property
    def end(self) -> int:
        """The characters of the text up to the document's end."""
        return self.extent.end

    @property
    def line(self) -> int:
        """The first line, from 1."""
        return self.extent.line

    @property
    def location(self) -> Location:
        """The location of the document's beginning."""
        return Location(self.source.file, self.line, places=self)

    def locate(self, *path: str | int) -> Location:
        steps = tuple(map(str, path))
        reached, line, column = finder(self.source.text, self.extent).find(steps)
        pointer = _pointer(steps[:reached])
        return Location(self.source.file, line or self.line, column, pointer, self)

    def character(self, offset: int, *path: str | int) -> Location:
        from chartkit.documents.parsed_places import child, composed, offset_in_source

        location = self.locate(*path)
        node = composed(self.source.text[self.start : self.end])
        for step in map(str, path):
            node = child(node, step)
        if not isinstance(node, yaml.ScalarNode):
            return location
        start = self.start + node.start_mark.index
        raw = self.source.text[start : self.start + node.end_mark.index]
        inside = offset_in_source(raw, node.style, node.value, offset)
        if inside is None:
            return location
        before = self.source.text[: start + inside]
        line = self.source.lines + before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        return replace(location, line=line, column=column)

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        """Return the lines around one, and the number of the first."""
        begin, lines = _lines(self.source.text, self.start, self.end)
        begin += self.source.lines
        first = max(line - begin - _AROUND, 0)
        return first + begin, lines[first : line - begin + _AROUND + 1]

    def repeated_key(self) -> Location | None:
        """The location of a duplicate key in a mapping; its pointer ends with the key."""
        from chartkit.documents.parsed_places import Above

        above: list[Above] = []
        with contextlib.suppress(yaml.YAMLError):
            for event in yaml.parse(self.source.text[self.start : self.end], yaml.CSafeLoader):
                if isinstance(event, yaml.CollectionEndEvent):
                    above.pop()
                elif isinstance(event, yaml.NodeEvent):
                    if above and above[-1].repeats(event):
                        pointer = pointer_of(*(str(level.step) for level in above))
                        mark: Any = event.start_mark
                        before = self.source.lines + self.source.text.count("\n", 0, self.start)
                        line = before + mark.line + 1
                        return Location(self.source.file, line, mark.column + 1, pointer)
                    if isinstance(event, yaml.CollectionStartEvent):
                        above.append(Above(isinstance(event, yaml.MappingStartEvent)))
        return None


@lru_cache(maxsize=4096)
def _pointer(steps: tuple[str, ...]) -> str:
    return pointer_of(*steps)


class _LineCounter:
    """The numbers of lines of one text, which are requested from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._line = 1

    def line(self, position: int) -> int:
        """Return the line of a position, from 1."""
        if position < self._position:
            self._position, self._line = 0, 1
        self._line += self._text.count("\n", self._position, position)
        self._position = position
        return self._line


_counter = lru_cache(maxsize=1)(_LineCounter)


@lru_cache(maxsize=1)
def _lines(text: str, start: int, end: int) -> tuple[int, list[str]]:
    """Return the number of the first line of a part of a text, and its lines."""
    return _counter(text).line(start), text[start:end].rstrip().split("\n")


def read_file(path: Path | str) -> list[Document]:
    """Return the documents of a file without empty ones; raise InputError with file:line:column."""
    return read_text(read_source(path), str(path))


def read_source(path: Path | str) -> str:
    """Return a file's text; raise InputError if it is missing, unreadable or not UTF-8."""
    return input_files.read_text(path)


def read_stdin(stdin: TextIO) -> list[Document]:
    """Return the documents on standard input; raise InputError as `read_file` does."""
    from chartkit.documents import streams

    return read_text(streams.read_stdin(stdin), "<stdin>")


def read_text(text: str, file: str = "<text>", lines: int = 0) -> list[Document]:
    """Return the documents of a text without empty ones; lines: those of the file before the text,
    where it is a part of one. Raise InputError with file:line:column."""
    source = Source(file, text, lines)
    try:
        if text.lstrip()[:1] == "{":
            from chartkit.documents.json_text import read_json

            documents = read_json(source)
            if documents is not None:
                return documents
        built = read_documents(text, file, lines)
    except InputError as error:
        location = error.location
        if location is not None and location.line:
            location = replace(location, line=location.line + lines)
        raise InputError(error.message, location, error.hint) from None
    documents = []
    for part, extent in zip(built, extents(text, built), strict=True):
        if lines:
            items = [item._replace(line=item.line + lines) for item in extent.items]
            extent = replace(extent, line=extent.line + lines, items=items)
        documents.append(Document(part.body, source, extent))
    return documents


def empty_document(source: Source) -> Document:
    """Return a text without values as a document: an empty mapping."""
    return Document({}, source, Extent(0, len(source.text), 1))


def parse_yaml(text: str) -> Json:
    """Return the value of a text's first document (None if it has none); raise InputError."""
    try:
        for document in build_documents(text, "<text>"):
            return document.body
    except UnicodeEncodeError as error:
        raise InputError("is not UTF-8 text", Location("<text>")) from error
    return None


def resources(documents: Iterable[Document]) -> list[Resource]:
    """Return the Kubernetes objects of documents, with the items of `List` objects; raise
    InputError for any other document."""
    objects: list[Resource] = []
    for document in documents:
        body = document.body
        if not isinstance(body, dict):
            text = document.source.text[document.start : document.end]
            is_table = text.lstrip().partition(" ")[0] in ("NAME", "NAMESPACE")
            hint = _MAPPING
            if is_table and isinstance(body, str):
                hint = "that is a table of kubectl: take -o json or -o yaml"
            raise InputError("is not a Kubernetes object", document.location, hint)
        for key in _TYPE:
            if not _is_named(body, key):
                hint = "every Kubernetes object names its apiVersion and kind"
                raise InputError(f"has no '{key}'", document.locate(key), hint)
        if body["kind"].endswith(_LIST_SUFFIX):
            objects += _opened(document, body, ())
        else:
            objects.append(Resource(body, document.location))
    return objects


def _opened(document: Document, body: Body, path: tuple[str | int, ...]) -> Iterator[Resource]:
    """Yield the object at a path of a document, or the items of a list of objects."""
    items, kind = body.get("items"), body["kind"]
    if kind == _LIST_SUFFIX and items is not None and not isinstance(items, list):
        location = document.locate(*path, "items")
        raise InputError("is not a list", location, "a List has its objects in items")
    if not (kind.endswith(_LIST_SUFFIX) and isinstance(items, list)):
        yield Resource(body, document.locate(*path) if path else document.location)
        return
    for index, item in enumerate(items):
        here = (*path, "items", index)
        location = document.locate(*here)
        if isinstance(item, dict) and not any(key in item for key in _TYPE):
            # As an API server lists objects of one kind.
            of = kind.removesuffix(_LIST_SUFFIX)
            item = {"apiVersion": body["apiVersion"], "kind": of, **item} if of else item
        if not isinstance(item, dict) or not all(_is_named(item, key) for key in _TYPE):
            raise InputError("is not a Kubernetes object", location, "an item of a List")
        if item["kind"] == _LIST_SUFFIX:
            yield from _opened(document, item, here)
        else:
            yield Resource(item, location)


def _is_named(body: Body, key: str) -> bool:
    return isinstance(body.get(key), str) and bool(body[key])
