"""Files split by bytes into slices of whole documents, which several processes read.

In YAML a line that begins with `---` ends a document wherever it stands, so that a text can be cut
there without being parsed; a List is cut at its items (`lists`). A file with directives (`%`), a
compressed one, and one that begins as other JSON are not cut.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from chartkit.documents.input_files import SUFFIXES, decoded, read_bytes, read_span
from chartkit.documents.reader import Document, read_source, read_text
from chartkit.errors import system_errors
from chartkit.model import Diagnostic, Location, Resource
from chartkit.scan.parallel.lists import Items, Span, items_of, spans

SLICE: Final = 1 << 18
"""The bytes of a slice, and of the files of one part, as a rule."""
_WINDOW: Final = 1 << 24
"""The bytes of a file that are looked through at a time."""
_MAPPED_AROUND: Final = 1 << 21
"""The bytes before a page that systems may map with it, where files are cached in large pages."""
_CUT: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_DIRECTIVE: Final = re.compile(rb"^%", re.MULTILINE)
_SHARED_LISTS: Final = frozenset({"NamespaceList", "CustomResourceDefinitionList"})
_BEFORE_JSON: Final = b"\xef\xbb\xbf \t\r\n"


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
        slices = [each.loaded() if isinstance(each, Slice) else each for each in self.slices]
        return replace(self, slices=tuple(slices))

    def __str__(self) -> str:
        for each in self.slices:
            if isinstance(each, Slice):
                return str(Location(each.shown, each.lines + 1 if each.lines else 0))
        return f"part {self.number}"


def is_compressed(file: Path) -> bool:
    """Report whether a file is compressed, by its name."""
    return file.suffix in SUFFIXES


def parts(
    slices: Iterable[tuple[Slice | Diagnostic, int, bool]],
) -> Iterator[Part]:
    """Yield slices as parts of some size; each comes with its bytes and whether it is surveyed."""
    number, size, is_surveyed = 0, 0, False
    gathered: list[Slice | Diagnostic] = []
    for each, length, has_shared in slices:
        if gathered and size + length > SLICE:
            yield Part(number, tuple(gathered), is_surveyed)
            number, size, is_surveyed, gathered = number + 1, 0, False, []
        gathered.append(each)
        size += length
        is_surveyed = is_surveyed or has_shared
    if gathered:
        yield Part(number, tuple(gathered), is_surveyed)


def sliced(
    file: str, number: int, is_named: bool, shared: re.Pattern[bytes], name: str = ""
) -> Iterator[tuple[Slice, int, bool]]:
    """Yield the slices of a file, each with its length and whether the pattern is found in it;
    name: of the file in messages, if it is another.

    Raise InputError for a file that cannot be read.
    """
    with system_errors("cannot be read", file), open(file, "rb") as stream:
        length = stream.seek(0, 2)
        whole = Slice(file, number, is_named, name=name)
        if not length:
            yield whole, 0, False
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if length > SLICE and (found := items_of(content)) is not None:
                yield from _of_list(content, whole, found, shared)
                return
            if length <= SLICE or not _is_cut(content):
                yield whole, length, bool(shared.search(content))
                return
            start = lines = 0
            for end in _cuts(content):
                span = content[start:end]
                each = replace(whole, start=start, end=end, lines=lines)
                yield each, end - start, bool(shared.search(span))
                lines += _lines(span)
                _release(content, start, end)
                start = end


def _of_list(
    content: mmap.mmap, whole: Slice, found: tuple[Items, int, int], shared: re.Pattern[bytes]
) -> Iterator[tuple[Slice, int, bool]]:
    items, begin, finish = found
    lines = _lines(content[:begin])
    for span in spans(content, items, begin, finish, SLICE):
        text = content[span.start : span.end]
        # The items of a list of one kind need not name it.
        has_shared = bool(shared.search(text)) or items.kind in _SHARED_LISTS
        part = replace(whole, start=span.start, end=span.end, lines=lines, items=items)
        part = replace(part, first=span.first, count=span.count)
        yield part, span.end - span.start, has_shared
        lines += _lines(text)
        _release(content, span.start, span.end)


def _release(content: mmap.mmap, start: int, end: int) -> None:
    """Release the memory of a part of a file that has been searched; its pages stay cached."""
    begin = max(start - _MAPPED_AROUND, 0) // mmap.PAGESIZE * mmap.PAGESIZE
    if hasattr(content, "madvise"):
        content.madvise(mmap.MADV_DONTNEED, begin, end - begin)


def _is_cut(content: mmap.mmap) -> bool:
    head = content[:4096].lstrip(_BEFORE_JSON)
    if head.startswith(b"{"):
        return False
    for start in range(0, len(content), _WINDOW):
        end = min(start + _WINDOW, len(content))
        if _DIRECTIVE.search(content, start, end):
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
    found = 0
    for file in files:
        with system_errors("cannot be read", file):
            found += file.stat().st_size
    return found
