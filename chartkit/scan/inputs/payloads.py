"""The documents of `--json`: any mappings of JSON or YAML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from chartkit.documents.reader import Document, read_file, read_stdin
from chartkit.documents.unread import UNREADABLE, unread_at
from chartkit.errors import InputError
from chartkit.model import Location, Resource
from chartkit.scan.inputs import STDIN, Note, existing, matching, read_each


def read_payloads(paths: Sequence[str], stdin: TextIO, note: Note) -> list[Resource]:
    """Return the documents at paths, each a mapping of JSON or YAML but not a Kubernetes object.
    note: called with a row for each file that cannot be read or has a document that is not a
    mapping. Raise InputError for a sole path of that kind, or without documents."""
    return read_each(
        matching(paths),
        lambda path, rows: _payloads_at(path, stdin, rows),
        lambda path: InputError("holds no document", Location(path)),
        note,
    )


def _payloads_at(path: str, stdin: TextIO, note: Note) -> list[Resource]:
    if path == STDIN:
        return _payloads(read_stdin(stdin))
    where = existing(Path(path))
    if not where.is_dir():
        return _payloads(read_file(where))
    from chartkit.scan.inputs.folders import walk

    payloads: list[Resource] = []
    for file in walk(where, note):
        try:
            payloads += [] if file.is_dir() else _payloads(read_file(file))
        except UNREADABLE as error:
            note(unread_at(Location(str(file)), error))
    return payloads


def _payloads(documents: Iterable[Document]) -> list[Resource]:
    payloads: list[Resource] = []
    for document in documents:
        if not isinstance(document.body, dict):
            raise InputError("must be a mapping", document.location)
        payloads.append(Resource(document.body, document.location))
    return payloads
