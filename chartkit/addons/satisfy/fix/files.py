"""The files that a fix may change: those of the inputs, as they are on the disk."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

from chartkit.addons.satisfy.fix.model import FileText
from chartkit.documents.input_files import SUFFIXES, read_bytes
from chartkit.documents.reader import Document, Source, read_text
from chartkit.errors import InputError
from chartkit.model import Json, Location, same
from chartkit.output.atomic_folder import write_together
from chartkit.output.yaml_edit import NOT_EDITABLE, rewritten

_MOST_BYTES: Final = 16 << 20
BOM: Final = "\ufeff"
"""The byte order mark, which is part of no document."""
_LONG: Final = 2_000
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_WRITABLE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files of the inputs. paths: the files and folders that the user names; stdin: the text
    of standard input; writes: whether files are written."""

    paths: Sequence[str]
    stdin: str
    writes: bool

    def text(self, source: Source) -> tuple[Path | None, str]:
        """Return a file that was read, None for standard input, and its whole text with its own
        line ends; raise InputError for a file that is not to be changed."""
        name = source.file
        if name == "<stdin>":
            return None, self.stdin
        path, location = Path(name), Location(name)
        real = os.path.realpath(path)
        if not any(Path(real).is_relative_to(os.path.realpath(each)) for each in self.paths):
            raise InputError("is outside of the inputs", location)
        if path.suffix in SUFFIXES:
            raise InputError("is compressed", location)
        content = read_bytes(path, _MOST_BYTES)
        is_writable = os.access(real, os.W_OK) and os.stat(real).st_mode & _WRITABLE
        if self.writes and not is_writable:
            raise InputError("is not writable", location)
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", location) from None
        if _lines(text.removeprefix(BOM)) != _lines(source.text):
            raise InputError("has changed since it was read", location)
        return path, text


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def document_text(text: str, document: Document, body: Json) -> str:
    """Return the part of a text that a document takes with another value; the rest of it is as it
    was. Raise InputError where that cannot be done."""
    if (repeated := document.repeated_key()) is not None:
        raise InputError("the document has a key twice", repeated)
    return rewritten(text[document.start : document.end], body, Path(document.source.file), "")


def with_documents(text: str, name: str, wanted: Mapping[int, Json]) -> str:
    """Return a text whose documents with these numbers have other values, as `document_text` does;
    raise InputError."""
    documents = documents_of(text, name)
    mark = text[: len(text) - len(text.removeprefix(BOM))]
    text = text.removeprefix(BOM)
    parts, at = [mark], 0
    for number, body in sorted(wanted.items()):
        document = documents[number]
        parts += [text[at : document.start], document_text(text, document, body)]
        at = document.end
    after = "".join([*parts, text[at:]])
    bodies = [wanted.get(number, each.body) for number, each in enumerate(documents)]
    if not same([each.body for each in documents_of(after, name)], bodies):
        raise InputError(NOT_EDITABLE, Location(name))
    return after


def documents_of(text: str, name: str) -> list[Document]:
    """Return the documents of a text as it is on the disk; raise InputError."""
    return read_text(text.removeprefix(BOM), name)


def diff(files: Iterable[FileText]) -> Iterator[str]:
    """Yield a unified diff in lines."""
    for file in files:
        old, new = _LINE.findall(file.before), _LINE.findall(file.after)
        # Lines that many objects have are no junk, but cost time.
        matcher = SequenceMatcher(None, old, new, len(old) > _LONG)
        yield f"--- {file.name}\n+++ {file.name}\n"
        for group in matcher.get_grouped_opcodes():
            start, end = group[0], group[-1]
            yield f"@@ -{_span(start[1], end[2])} +{_span(start[3], end[4])} @@\n"
            for tag, a, b, c, d in group:
                lines = [f" {line}" for line in old[a:b]] if tag == "equal" else []
                if tag != "equal":
                    lines = [*(f"-{line}" for line in old[a:b]), *(f"+{line}" for line in new[c:d])]
                for line in lines:
                    is_whole = line.endswith("\n")
                    yield line if is_whole else f"{line}\n\\ No newline at end of file\n"


def _span(start: int, end: int) -> str:
    """Return lines as a unified diff names them; start: from 0."""
    count = end - start
    return f"{start + bool(count)}" + ("" if count == 1 else f",{count}")


def write(files: Sequence[FileText]) -> None:
    """Write files in one step; raise InputError where that cannot be done."""
    write_together({file.path: file.after for file in files if file.path is not None})
