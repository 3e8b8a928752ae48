"""Lists split by bytes into slices of whole items, as `kubectl get` writes them in YAML and JSON.

A cut is a guess at lines that begin an item. Each slice is parsed by itself, so that a wrong guess
shows: within a text or a nested value, one of the two slices is not a list of items.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from chartkit.documents.input_files import read_span
from chartkit.documents.reader import Document, read_text, resources
from chartkit.errors import InputError
from chartkit.model import Location, Places, Resource, mapping_at

_HEAD: Final = 1 << 16
"""The bytes within which the items begin, and after which the rest of the List ends."""
_YAML: Final = re.compile(rb"^items:[ \t]*\r?\n(?=([ ]*)- )", re.MULTILINE)
_YAML_END: Final = re.compile(rb"^[A-Za-z]", re.MULTILINE)
_JSON: Final = re.compile(rb'^[ \t]*"items":[ ]*\[\r?\n(?=([ \t]+)\{\r?$)', re.MULTILINE)
_AROUND: Final = 2
"""The lines above and below one that an excerpt has."""
_MARGIN: Final = 1 << 12
_SUFFIX: Final = "List"


class NotAList(Exception):  # noqa: N818 - no error: the text is read as a whole
    """A slice that holds other things than whole items."""


@dataclass(frozen=True, slots=True)
class Items:
    """The part that all items of a List share.

    before, after: the text that makes a slice of items a document; begin: what begins an item.
    """

    api_version: str
    kind: str
    before: str
    after: str
    begin: bytes
    is_json: bool

    def objects(self, text: str, name: str, lines: int, span: Span, file: str) -> list[Resource]:
        """Return the objects of a slice; name: of the file in messages; lines: those of the file
        before it. Raise NotAList."""
        if self.is_json:
            text = text.rstrip().removesuffix(",")
        whole = f"{self.before}{text}{self.after}"
        try:
            documents = read_text(whole, name, lines - 1)
        except InputError as error:
            raise NotAList from error
        body = documents[0].body if len(documents) == 1 else None
        items = mapping_at(body).get("items")
        if not isinstance(items, list) or len(items) != span.count or len(mapping_at(body)) != 1:
            raise NotAList
        body = {"apiVersion": self.api_version, "kind": self.kind, "items": items}
        found = resources([replace(documents[0], body=body)])
        return [_numbered(resource, span, lines, file) for resource in found]


@dataclass(frozen=True, slots=True)
class ItemPlaces:
    """The places of items of which the first has another number in the whole List."""

    span: Span
    lines: int
    file: str
    inner: Places

    def locate(self, *path: str | int) -> Location:
        return self.outer(self.inner.locate(*self._local(path)))

    def character(self, offset: int, *path: str | int) -> Location:
        return self.outer(self.inner.character(offset, *self._local(path)))

    def value_of(self, *_path: str | int) -> None:
        """Return None: no chart's value is shown here."""

    def excerpt(self, line: int) -> tuple[int, list[str]]:
        """Return the lines around one, and the number of the first."""
        known = _lines_around(self.file, self.span.start, self.span.end, self.lines)
        first = max(line - _AROUND, 1)
        return first, [known[at] for at in range(first, line + _AROUND + 1) if at in known]

    def outer(self, location: Location) -> Location:
        """Return a location of the slice as one of the whole List."""
        root, name, number, *rest = (*location.path.split("/", 3), "", "")[:4]
        if not number.isdecimal():
            return replace(location, places=self)
        below = f"/{rest[0]}" if rest and rest[0] else ""
        path = f"{root}/{name}/{int(number) + self.span.first}{below}"
        return replace(location, path=path, places=self)

    def _local(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        if len(path) < 2 or not str(path[1]).isdecimal():
            return path
        return (path[0], int(path[1]) - self.span.first, *path[2:])


@lru_cache(maxsize=1)
def _lines_around(file: str, start: int, end: int, lines: int) -> dict[int, str]:
    """Return the lines of a slice and a few around it, by their numbers; lines: those before it."""
    begin = max(start - _MARGIN, 0)
    before = _split(read_span(file, begin, start))[:-1]
    found = _split(read_span(file, start, end + _MARGIN).rstrip())
    above = before[-_AROUND:]
    return dict(enumerate((*above, *found), start=lines + 1 - len(above)))


def _split(content: bytes) -> list[str]:
    text = content.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _numbered(resource: Resource, span: Span, lines: int, file: str) -> Resource:
    location = resource.location
    if location.places is None:
        return resource
    places = ItemPlaces(span, lines, file, location.places)
    return Resource(resource.body, places.outer(location))


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the items: bytes from start to end, the number of the first, and how many."""

    start: int
    end: int
    first: int
    count: int


def items_of(content: mmap.mmap) -> tuple[Items, int, int] | None:
    """Return the items of a file that is a List, and where they begin and end; None for a file that
    is not a List, or is not laid out line by line."""
    head = content[:_HEAD]
    is_json = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    match = (_JSON if is_json else _YAML).search(head)
    if match is None:
        return None
    start, indent = match.end(), match.group(1)
    end = _json_end(content, indent) if is_json else _yaml_end(content, start)
    if end is None:
        return None
    inner = b"" if is_json else b" []\n"
    skeleton = head[:start].rstrip() + inner + content[end:]
    header = _header(skeleton)
    if header is None:
        return None
    version, kind = header
    if is_json:
        return Items(version, kind, '{"items": [\n', "\n]}", indent + b"{", True), start, end
    return Items(version, kind, "items:\n", "", indent + b"- ", False), start, end


def _json_end(content: mmap.mmap, indent: bytes) -> int | None:
    """Return where the line after the last item begins."""
    tail = max(len(content) - _HEAD, 0)
    at = content.rfind(b"\n" + indent + b"}", tail)
    end = content.find(b"\n", at + 1)
    return end + 1 if at >= 0 and end >= 0 else None


def _yaml_end(content: mmap.mmap, start: int) -> int | None:
    """Return where the keys after the items begin."""
    tail = max(len(content) - _HEAD, start)
    match = _YAML_END.search(content, tail)
    return match.start() if match is not None else len(content)


def _header(skeleton: bytes) -> tuple[str, str] | None:
    """Return the API version and kind of a List without its items; None for anything else, and for
    one that is not whole."""
    try:
        documents: list[Document] = read_text(skeleton.decode("utf-8-sig"))
    except (InputError, UnicodeDecodeError):
        return None
    body = mapping_at(documents[0].body) if len(documents) == 1 else {}
    version, kind, metadata = body.get("apiVersion"), body.get("kind"), body.get("metadata")
    if not isinstance(version, str) or not isinstance(kind, str) or body.get("items") != []:
        return None
    has_more = mapping_at(metadata).keys() & {"continue", "remainingItemCount"}
    return None if has_more or not kind.endswith(_SUFFIX) or not version else (version, kind)


def spans(content: mmap.mmap, items: Items, start: int, end: int, size: int) -> Iterator[Span]:
    """Yield the items in parts of about so many bytes."""
    begin = re.compile(b"^" + re.escape(items.begin), re.MULTILINE)
    first = 0
    while start < end:
        match = begin.search(content, min(start + size, end), end)
        until = match.start() if match is not None else end
        count = sum(1 for _ in begin.finditer(content, start, until))
        yield Span(start, until, first, count)
        start, first = until, first + count
