"""Edits in files of manifests, the items of Lists and standard input among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from chartkit.addons.satisfy.fix.files import (
    BOM,
    SourceFiles,
    document_text,
    documents_of,
    with_documents,
)
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
from chartkit.documents.reader import Document
from chartkit.errors import InputError
from chartkit.model import Body, Json, Resource, mapping_at, pointed_at, pointer_of, pointer_steps

_Unit = tuple[Subject, Edit]
Confirm = Callable[[Subject], bool]
"""A function that reports whether the edits of an object that are left do what they should."""


def batches(subjects: Sequence[Subject], files: SourceFiles, confirm: Confirm) -> Iterator[Batch]:
    """Yield the edits of each file; subjects: objects that manifests have. Edits that cannot be
    made are left out, and open."""
    by_file: dict[str, list[Subject]] = {}
    for subject in subjects:
        by_file.setdefault(subject.given.location.file, []).append(subject)
    for same_file in by_file.values():
        try:
            yield _batch(same_file, files, confirm)
        except InputError as error:
            for subject in same_file:
                place = error.location or subject.given.location
                subject.give_up(Reason(f"the file {error.message}", place))


def _batch(subjects: Sequence[Subject], files: SourceFiles, confirm: Confirm) -> Batch:
    """Return the edits of one file; raise InputError where it cannot be edited at all."""
    first = _document(subjects[0].given)
    name = first.source.file
    path, text = files.text(first.source)
    # Line ends and a mark at the beginning may be others on the disk, not the documents.
    starts = [each.start for each in documents_of(first.source.text, name)]
    documents = documents_of(text, name)
    by_number: dict[int, list[Subject]] = {}
    for subject in subjects:
        by_number.setdefault(starts.index(_document(subject.given).start), []).append(subject)
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
    return Batch(subjects, [FileText(name, path, text, after)] if made else (), made)


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
    """Return an object as an edited document has it."""
    steps = pointer_steps(given.location.path)
    own: Body = mapping_at(pointed_at(document.body, steps))
    # Items of a list of one kind need not name it.
    typed = {key: given.body[key] for key in ("apiVersion", "kind") if key not in own}
    return Resource({**typed, **own}, document.locate(*steps))
