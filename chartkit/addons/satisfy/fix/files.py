"""The files of the inputs as they are on the disk, and edits of manifests in them, the items of
Lists and standard input among them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

from chartkit.addons.satisfy.fix.model import (
    Batch,
    Edit,
    FileText,
    NoPlaceError,
    Reason,
    Subject,
    changed,
    most_of,
)
from chartkit.documents.input_files import SUFFIXES, read_bytes
from chartkit.documents.reader import Document, Source, read_text
from chartkit.errors import InputError
from chartkit.model import (
    Body,
    Json,
    Location,
    Resource,
    gathered,
    mapping_at,
    pointed_at,
    pointer_of,
    pointer_steps,
    same,
)
from chartkit.output.atomic_folder import write_together
from chartkit.output.yaml_edit import NOT_EDITABLE, rewritten

_Unit = tuple[Subject, Edit]
Confirm = Callable[[Subject], bool]
"""A function that reports whether the edits of an object that are left do what they should."""
_MOST_BYTES: Final = 16 << 20
BOM: Final = "\ufeff"
"""The byte order mark, which is part of no document."""
_LONG: Final = 2_000
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_WRITABLE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def manifest_batches(
    subjects: Sequence[Subject], files: SourceFiles, confirm: Confirm
) -> Iterator[Batch]:
    """Yield the edits of each file; subjects: objects that manifests have. Edits that cannot be
    made are left out, and open."""
    by_file = gathered((subject.given.location.file, subject) for subject in subjects)
    for same_file in by_file.values():
        try:
            first = _document(same_file[0].given)
            name = first.source.file
            path, text = files.text(first.source)
            # Line ends and a mark at the beginning may be others on the disk, not the documents.
            starts = [document.start for document in documents_of(first.source.text, name)]
            documents = documents_of(text, name)
            by_number = gathered(
                (starts.index(_document(subject.given).start), subject) for subject in same_file
            )
            wanted: dict[int, Json] = {}
            for number, objects in by_number.items():
                _DocumentEdits(text.removeprefix(BOM), documents[number], objects).settle(confirm)
                units = [(subject, edit) for subject in objects for edit in subject.edits]
                if units:
                    wanted[number] = _body(documents[number].body, units)
            after = with_documents(text, name, wanted)
            places = documents_of(after, name)
            made = {
                subject.number: _object(places[number], subject.given)
                for number, objects in by_number.items()
                for subject in objects
                if subject.edits
            }
            yield Batch(same_file, [FileText(name, path, text, after)] if made else (), made)
        except InputError as error:
            for subject in same_file:
                place = error.location or subject.given.location
                subject.give_up(Reason(f"the file {error.message}", place))


@dataclass(frozen=True, slots=True)
class _DocumentEdits:
    """The edits of objects of one document. text: the one that the document is a part of."""

    text: str
    document: Document
    subjects: Sequence[Subject]

    def settle(self, confirm: Confirm) -> None:
        """Leave out the edits that cannot be made in the text."""
        units = [(subject, edit) for subject in self.subjects for edit in subject.edits]
        kept = {(unit[0].number, unit[1].steps) for unit in most_of(units, self._works)}
        for subject in self.subjects:
            failed = {
                edit.steps: self._reason(subject, edit)
                for edit in subject.edits
                if (subject.number, edit.steps) not in kept
            }
            subject.settle(failed)
            if failed and subject.edits and not confirm(subject):
                subject.give_up(next(iter(failed.values())))

    def _works(self, units: Sequence[_Unit]) -> bool:
        try:
            document_text(self.text, self.document, _body(self.document.body, units))
        except (InputError, NoPlaceError):
            return False
        return True

    def _reason(self, subject: Subject, edit: Edit) -> Reason:
        place = subject.given.location.within(pointer_of(*edit.steps))
        try:
            body = _body(self.document.body, [(subject, edit)])
            document_text(self.text, self.document, body)
        except InputError as error:
            is_placed = error.location is not None and error.location.line
            return Reason(error.message, error.location if is_placed and error.location else place)
        except NoPlaceError:
            return Reason("the file has no such field", place)
        return Reason("cannot be made together with another change of the document", place)


def _document(resource: Resource) -> Document:
    places = resource.location.places
    assert isinstance(places, Document)
    return places


def _body(body: Json, units: Sequence[_Unit]) -> Json:
    """Return a document's value with edits of its objects; raise NoPlaceError. A file that is
    named twice has each object twice."""
    first: dict[str, int] = {}
    for subject, edit in units:
        pointer = subject.given.location.path
        if first.setdefault(pointer, subject.number) == subject.number:
            body = changed(body, (*pointer_steps(pointer), *edit.steps), edit.value)
    return body


def _object(document: Document, given: Resource) -> Resource:
    steps = pointer_steps(given.location.path)
    own: Body = mapping_at(pointed_at(document.body, steps))
    # Items of a list of one kind need not name it.
    typed = {key: given.body[key] for key in ("apiVersion", "kind") if key not in own}
    return Resource({**typed, **own}, document.locate(*steps))


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
        if not any(Path(real).is_relative_to(os.path.realpath(root)) for root in self.paths):
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
    bodies = [wanted.get(number, document.body) for number, document in enumerate(documents)]
    if not same([document.body for document in documents_of(after, name)], bodies):
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
