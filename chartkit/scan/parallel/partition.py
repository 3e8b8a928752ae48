"""Files split by bytes into slices of whole documents, which several processes read.

In YAML a line that begins with `---` ends a document wherever it stands, so that a text can be cut
there without being parsed. A List is cut at its items, as `kubectl get` writes them in YAML and
JSON: at a guess at lines that begin one. Each slice is parsed by itself, so that a wrong guess
shows: within a text or a nested value, one of the two slices is not a list of items. A file with
directives (`%`), a compressed one, and one that begins as other JSON are not cut.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import SUFFIXES, decoded, read_bytes, read_span
from chartkit.documents.reader import Document, read_source, read_text, resources
from chartkit.errors import InputError, system_errors
from chartkit.model import Diagnostic, Location, Places, Resource, mapping_at

SLICE: Final = 1 << 18
"""The bytes of a slice, and of the files of one part, as a rule."""
_WINDOW: Final = 1 << 24
"""The bytes of a file that are looked through at a time."""
_MAPPED_AROUND: Final = 1 << 21
"""The bytes before a page that systems may map with it, where files are cached in large pages."""
_CUT: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_DIRECTIVE: Final = b"%"
_SHARED_LISTS: Final = frozenset({"NamespaceList", "CustomResourceDefinitionList"})
_BEFORE_JSON: Final = b"\xef\xbb\xbf \t\r\n"
_HEAD: Final = 1 << 16
"""The bytes within which the items begin, and after which the rest of the List ends."""
_YAML: Final = re.compile(rb"^items:[ \t]*\r?\n(?=([ ]*)- )", re.MULTILINE)
_YAML_END: Final = re.compile(rb"^[A-Za-z]", re.MULTILINE)
_JSON: Final = re.compile(rb'^[ \t]*"items":[ ]*\[\r?\n(?=([ \t]+)\{\r?$)', re.MULTILINE)
_AROUND: Final = 2
"""The lines above and below one that an excerpt has."""
_MARGIN: Final = 1 << 12
_SUFFIX: Final = "List"
Patterns = Sequence[re.Pattern[bytes]]
"""Patterns that begin with a word each: a search for that is far faster than one for several."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes of a file, which hold whole documents. lines: those before it; end: None for a whole
    file; number: of the path that the user gave; is_named: whether that is the file itself; items:
    of a List, if it is a slice of one, with the number of the first and of all of them; content:
    the bytes, where the process that reads them does not have the file; name: of the file in
    messages, if it is another; is_required: whether a fault of it ends the scan, and is not a row
    of its own."""

    file: str
    number: int
    is_named: bool
    start: int = 0
    end: int | None = None
    lines: int = 0
    items: Items | None = None
    first: int = 0
    count: int = 0
    content: bytes | None = field(default=None, repr=False, compare=False)
    name: str = ""
    is_required: bool = True

    def loaded(self) -> Slice:
        """Return the slice with its bytes, for a process that does not have the file."""
        if self.end is None:
            return replace(self, content=read_bytes(self.file))
        return replace(self, content=read_span(self.file, self.start, self.end))

    def read(self) -> list[Document]:
        """Return the documents; raise InputError."""
        if self.end is None and self.content is None:
            return read_text(read_source(self.file), self.shown)
        return read_text(self._text(), self.shown, self.lines)

    @property
    def shown(self) -> str:
        """The name of the file in messages."""
        return self.name or self.file

    def listed(self, items: Items) -> list[Resource]:
        """Return the objects of a slice of a List; raise InputError and NotAList."""
        span = Span(self.start, self.end or 0, self.first, self.count)
        return items.objects(self._text(), self.shown, self.lines, span, self.file)

    def _text(self) -> str:
        content = self.content
        if content is None:
            content = read_span(self.file, self.start, self.end or 0)
        return decoded(content, Location(self.shown), self.start)


@dataclass(frozen=True, slots=True)
class Part:
    """The work of a process at a time. number: from 0; slices: with notes about files that are not
    read, in the order of the inputs; is_surveyed: whether it has objects that others depend on."""

    number: int
    slices: tuple[Slice | Diagnostic, ...]
    is_surveyed: bool = False

    def loaded(self) -> Part:
        """Return the part with its bytes, for a process that does not have the files."""
        slices = [item.loaded() if isinstance(item, Slice) else item for item in self.slices]
        return replace(self, slices=tuple(slices))

    def __str__(self) -> str:
        for slice_ in self.slices:
            if isinstance(slice_, Slice):
                return str(Location(slice_.shown, slice_.lines + 1 if slice_.lines else 0))
        return f"part {self.number}"


def is_compressed(file: Path) -> bool:
    """Report whether a file is compressed, by its name."""
    return file.suffix in SUFFIXES


def parts(slices: Iterable[tuple[Slice | Diagnostic, int, bool]]) -> Iterator[Part]:
    """Yield slices as parts of some size; each comes with its bytes and whether it is surveyed."""
    number, size, is_surveyed = 0, 0, False
    gathered: list[Slice | Diagnostic] = []
    for item, length, has_shared in slices:
        if gathered and size + length > SLICE:
            yield Part(number, tuple(gathered), is_surveyed)
            number, size, is_surveyed, gathered = number + 1, 0, False, []
        gathered.append(item)
        size += length
        is_surveyed = is_surveyed or has_shared
    if gathered:
        yield Part(number, tuple(gathered), is_surveyed)


def sliced(
    file: str, number: int, is_named: bool, shared: Patterns, name: str = ""
) -> Iterator[tuple[Slice, int, bool]]:
    """Yield the slices of a file, each with its length and whether a pattern is found in it;
    name: of the file in messages, if it is another. Raise InputError for a file that cannot be
    read."""
    with system_errors("cannot be read", file), open(file, "rb") as stream:
        length = stream.seek(0, 2)
        whole = Slice(file, number, is_named, name=name)
        if not length:
            yield whole, 0, False
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if length > SLICE and (items := items_of(content)) is not None:
                yield from _of_list(content, whole, items, shared)
                return
            if length <= SLICE or not _is_cut(content):
                yield whole, length, _has(content, shared)
                return
            start = lines = 0
            for end in _cuts(content):
                span = content[start:end]
                part = replace(whole, start=start, end=end, lines=lines)
                yield part, end - start, _has(span, shared)
                lines += _lines(span)
                _release(content, start, end)
                start = end


def _of_list(
    content: mmap.mmap, whole: Slice, listed: tuple[Items, int, int], shared: Patterns
) -> Iterator[tuple[Slice, int, bool]]:
    items, begin, finish = listed
    lines = _lines(content[:begin])
    for span in spans(content, items, begin, finish, SLICE):
        text = content[span.start : span.end]
        # The items of a list of one kind need not name it.
        has_shared = _has(text, shared) or items.kind in _SHARED_LISTS
        part = replace(whole, start=span.start, end=span.end, lines=lines, items=items)
        part = replace(part, first=span.first, count=span.count)
        yield part, span.end - span.start, has_shared
        lines += _lines(text)
        _release(content, span.start, span.end)


def _has(content: bytes | mmap.mmap, patterns: Patterns) -> bool:
    return any(pattern.search(content) for pattern in patterns)


def _release(content: mmap.mmap, start: int, end: int) -> None:
    """Release the memory of a part of a file that has been searched; its pages stay cached."""
    begin = max(start - _MAPPED_AROUND, 0) // mmap.PAGESIZE * mmap.PAGESIZE
    if hasattr(content, "madvise"):
        content.madvise(mmap.MADV_DONTNEED, begin, end - begin)


def _is_cut(content: mmap.mmap) -> bool:
    head = content[:4096].lstrip(_BEFORE_JSON)
    if head.startswith(b"{") or content[:1] == _DIRECTIVE:
        return False
    for start in range(0, len(content), _WINDOW):
        end = min(start + _WINDOW, len(content))
        if content.find(b"\n" + _DIRECTIVE, max(start - 1, 0), end) >= 0:
            return False
        _release(content, start, end)
    return True


def _cuts(content: mmap.mmap) -> Iterator[int]:
    """Yield where slices end."""
    at, length = 0, len(content)
    while length - at > SLICE and (match := _CUT.search(content, at + SLICE)):
        at = match.start()
        yield at
    yield length


def _lines(span: bytes) -> int:
    """Return the number of line ends, as Python reads text files."""
    if b"\r" in span:
        return span.count(b"\n") + span.count(b"\r") - span.count(b"\r\n")
    return span.count(b"\n")


def total(files: Sequence[Path]) -> int:
    """Return the bytes of files; raise InputError for one that cannot be read."""
    size = 0
    for file in files:
        with system_errors("cannot be read", file):
            size += file.stat().st_size
    return size


class NotAList(Exception):  # noqa: N818 - no error: the text is read as a whole
    """A slice that holds other things than whole items."""


@dataclass(frozen=True, slots=True)
class Items:
    """The part that all items of a List share. before, after: the text that makes a slice of items
    a document; begin: what begins an item."""

    api_version: str
    kind: str
    before: str
    after: str
    begin: bytes
    is_json: bool

    def objects(self, text: str, name: str, lines: int, span: Span, file: str) -> list[Resource]:
        """Return the objects of a slice; name: of the file in messages; lines: the number of lines
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
        listed = resources([replace(documents[0], body=body)])
        return [_numbered(resource, span, lines, file) for resource in listed]


@dataclass(frozen=True, slots=True)
class ItemPlaces(Places):
    """The places of items of which the first has another number in the whole List."""

    span: Span
    lines: int
    file: str
    inner: Places

    def locate(self, *path: str | int) -> Location:
        return self.outer(self.inner.locate(*self._local(path)))

    def character(self, offset: int, *path: str | int) -> Location:
        return self.outer(self.inner.character(offset, *self._local(path)))

    def excerpt(self, line: int) -> tuple[int, list[str]]:
        lines = _lines_around(self.file, self.span.start, self.span.end, self.lines)
        first = max(line - _AROUND, 1)
        return first, [lines[at] for at in range(first, line + _AROUND + 1) if at in lines]

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
    """The lines of a slice and a few around it, by number; lines: how many are before it."""
    begin = max(start - _MARGIN, 0)
    before = _split(read_span(file, begin, start))[:-1]
    own = _split(read_span(file, start, end + _MARGIN).rstrip())
    above = before[-_AROUND:]
    return dict(enumerate((*above, *own), start=lines + 1 - len(above)))


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
    tail = max(len(content) - _HEAD, 0)
    if is_json:
        # The line after the last item.
        at = content.rfind(b"\n" + indent + b"}", tail)
        end = content.find(b"\n", at + 1) + 1
        if at < 0 or not end:
            return None
    else:
        # The keys after the items.
        after = _YAML_END.search(content, max(tail, start))
        end = after.start() if after is not None else len(content)
    inner = b"" if is_json else b" []\n"
    skeleton = head[:start].rstrip() + inner + content[end:]
    header = _header(skeleton)
    if header is None:
        return None
    version, kind = header
    if is_json:
        return Items(version, kind, '{"items": [\n', "\n]}", indent + b"{", True), start, end
    return Items(version, kind, "items:\n", "", indent + b"- ", False), start, end


def _header(skeleton: bytes) -> tuple[str, str] | None:
    """The API version and kind of a List without items; None for anything else."""
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
