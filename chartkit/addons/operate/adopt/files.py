"""Manifests, folders, charts, values files and standard input, read into an estate."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from chartkit.addons.operate.adopt.chart_values import is_values
from chartkit.addons.operate.adopt.engine import (
    dependency_values,
    is_engine,
    released_values,
    values_in,
)
from chartkit.addons.operate.adopt.model import Estate, Outcome, Piece, Row
from chartkit.documents.reader import Document, read_file, read_stdin, resources
from chartkit.documents.unread import UNREADABLE, exclusion, is_unread, unread_at
from chartkit.engine import is_exception, is_policy
from chartkit.engine.kubernetes.kinds import CEL_GROUP, KYVERNO_GROUP, group_of, is_binding
from chartkit.errors import InputError
from chartkit.helm.embedded_code import first_code
from chartkit.helm.kustomize import is_kustomization
from chartkit.helm.kustomize.build import build
from chartkit.helm.kustomize.kustomization import Tree
from chartkit.library import upstream
from chartkit.model import Diagnostic, Location, Resource, mapping_at
from chartkit.report.text.layout import grouped
from chartkit.scan.inputs import (
    STDIN,
    ChartOptions,
    Note,
    existing,
    included,
    is_chart,
    is_object,
    matching,
)
from chartkit.scan.inputs.folders import render_inputs, unread_file, unread_files, walk
from chartkit.values.lint.folders import engine_keys
from chartkit.wording import abridged

_SEPARATOR: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_STORED: Final = ("uid", "resourceVersion", "managedFields", "creationTimestamp")
"""The fields that an object has once an API server stored it."""
_CHART_FILE: Final = "Chart.yaml"
_ENGINE: Final = "kyverno"
_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_REPORTED: Final = frozenset(
    ("wgpolicyk8s.io", "openreports.io", "reports.kyverno.io", "events.k8s.io")
)
_CHART_HINT: Final = "name the folder of its chart, so that Helm renders it"


_NEITHER: Final = "is neither an object nor values of Kyverno's chart"
_ALL_NEITHER: Final = "hold neither objects nor values of Kyverno's chart"
_VALUES_HINT: Final = "name values of Kyverno's chart by --values FILE"


@dataclass(slots=True)
class FileReader:
    """A reader of paths into an estate; stdin: for the path `-`; exclude: patterns of paths to
    leave out; neither: the files that hold nothing of use, with their places."""

    estate: Estate
    stdin: TextIO
    exclude: Sequence[str] = ()
    _neither: dict[str, Location] = field(default_factory=dict)

    def read(self, paths: Sequence[str]) -> None:
        """Read the paths in order, with a row for each file and chart that cannot be read; raise
        InputError for a path without anything of use, and for a single one that cannot be read."""
        paths = included(matching(paths), self.exclude)
        for path in paths:
            try:
                self._path(path)
            except UNREADABLE as error:
                if len(paths) == 1:
                    raise
                self._unread(unread_at(Location(path), error))
        folders = [path for path in map(Path, paths) if path.is_dir()]
        self.estate.values += released_values(self.estate.objects, folders, self._note)
        if len(self._neither) > 1:
            message = f"{_ALL_NEITHER}: {abridged(list(self._neither))}"
            row = Row(Outcome.NOTE, f"{len(self._neither)} files", message, None, _VALUES_HINT)
            self.estate.rows.append(row)
        for file, location in self._neither.items() if len(self._neither) == 1 else ():
            row = Row(Outcome.NOTE, f"file {file}", _NEITHER, location, _VALUES_HINT)
            self.estate.rows.append(row)

    def _unread(self, row: Diagnostic) -> None:
        """Add the row about a file, folder or chart that cannot be read, or holds no object."""
        location = row.location
        file = location.file if location is not None else ""
        if not is_unread(row) and location is not None:
            self._neither[file] = location
            return
        self.estate.rows.append(
            Row(Outcome.UNREAD, f"file {file}", row.message, location, _hint(row))
        )

    def _note(self, diagnostic: Diagnostic) -> None:
        where, hint = diagnostic.location, diagnostic.hint or ""
        row = Row(Outcome.NOTE, "engine values", diagnostic.message, where, hint, self.estate.name)
        self.estate.rows.append(row)

    def _path(self, path: str) -> None:
        if path == STDIN:
            self._documents(read_stdin(self.stdin), named=True)
            return
        where = existing(Path(path))
        before, others = len(self.estate.rows), len(self.estate.objects)
        if not where.is_dir():
            is_any = self._documents(read_file(where), named=True)
        elif is_chart(where):
            notes: list[Diagnostic] = []
            is_any = self._chart(where, notes.append)
            self._notes(notes)
        else:
            is_any = self._folder(where)
        if not is_any and len(self.estate.rows) == before:
            hint = "name manifests, a chart, values of Kyverno's chart or a recording of a cluster"
            raise InputError("holds nothing to adopt", Location(path), hint)
        if len(self.estate.objects) > others:
            self.estate.workloads.append(path)

    def _folder(self, folder: Path) -> int:
        excludes = exclusion(folder, self.exclude)
        files = list(walk(folder, self._unread, excludes))
        tree = Tree.of(folder, files)
        every = (*files, *tree.others())
        notes: list[Diagnostic] = []
        count = sum(self._below(path, tree.takes(path), notes.append) for path in every)
        built, rows = build(tree)
        for diagnostic in filter(is_unread, rows):
            self._unread(diagnostic)
        notes += [*unread_files(folder, excludes), *itertools.filterfalse(is_unread, rows)]
        self._notes(notes)
        for resource in built:
            sort_in(Piece(resource), self.estate)
        return count + len(built)

    def _notes(self, notes: Iterable[Diagnostic]) -> None:
        """Add a row for each kind of notes."""
        for note in grouped(notes, more="chartkit scan --detailed"):
            subject = f"path {note.location.file}" if note.location else ""
            row = Row(Outcome.NOTE, subject, note.message, note.location, _hint(note))
            self.estate.rows.append(row)

    def _below(self, file: Path, is_built: bool, note: Note) -> int:
        """Sort a file or chart in; is_built: whether a kustomization builds the file's objects."""
        if is_built and is_kustomization(file):
            return 0
        try:
            if file.is_dir():
                return self._chart(file, note)
            documents = read_file(file)
            wanted = [document for document in documents if not (is_built and is_object(document))]
            return self._documents(wanted, named=False)
        except UNREADABLE as error:
            if not is_built or file.is_dir():
                self._unread(unread_file(file, error))
            return 0

    def _documents(self, documents: Iterable[Document], named: bool) -> int:
        """Sort documents in; return how many were of use. named: each must be."""
        count = end = 0
        for document in documents:
            start, end = end, document.end
            if is_object(document):
                count += 1
                self._object(document, start)
            elif (values := values_in(document, named)) is not None:
                count += 1
                self.estate.values.append(values)
            elif is_values(document.body):
                count += 1
                self.estate.chart_values.append(document)
            elif named and document.body is not None:
                raise InputError("is not a Kubernetes object", document.location, _VALUES_HINT)
            elif isinstance(document.body, dict):
                self._neither.setdefault(document.source.file, document.location)
        return count

    def _object(self, document: Document, start: int) -> None:
        """Sort the objects of a document in; start: the end of the document before it."""
        objects, text, begin = resources([document]), document.source.text, document.start
        code = first_code(text[begin : document.end])
        if code is not None and any(map(_is_kyvernos, objects)):
            location = Location(document.source.file, text.count("\n", 0, begin) + code)
            self.estate.rows += [
                Row(Outcome.LEFT, Piece(resource).subject, "has Helm code", location, _CHART_HINT)
                for resource in objects
            ]
            return
        alone = len(objects) == 1 and objects[0].body is document.body
        for resource in objects:
            sort_in(Piece(resource, _own_text(document, start) if alone else ""), self.estate)

    def _chart(self, folder: Path, note: Note) -> int:
        documents = read_file(folder / _CHART_FILE)
        body = documents[0].body if documents else None
        chart = body if isinstance(body, dict) else {}
        if (values := dependency_values(folder, chart)) is not None:
            self.estate.values.append(values)
        elif chart.get("name") == _ENGINE and not engine_keys(chart):
            message = "is Kyverno's own chart: its values.yaml are the defaults"
            hint = "name your own values file"
            location = Location(str(folder))
            self.estate.rows.append(Row(Outcome.NOTE, f"chart {folder}", message, location, hint))
            return 1
        # Where nothing says how it is installed, Kyverno is where its own documentation has it.
        options = ChartOptions(namespace=_ENGINE, release=_ENGINE)
        options = options if engine_keys(chart) else ChartOptions()
        rendered = render_inputs(folder, options, note)
        for resource in rendered:
            sort_in(Piece(resource, chart=str(folder)), self.estate)
        return len(rendered) + (values is not None)


def _hint(row: Diagnostic) -> str:
    return (row.hint or "").replace("| chartkit scan -", "| chartkit adopt -")


def _own_text(document: Document, start: int) -> str:
    """Return a document as its author wrote it, with the comments above it; empty for JSON and for
    what was read from an API server."""
    body, source = document.body, document.source
    metadata = mapping_at(body, "metadata")
    if "status" in body or any(key in metadata for key in _STORED):
        return ""
    text = _SEPARATOR.sub("", source.text[document.start : document.end]).strip("\n")
    if text.lstrip().startswith("{"):
        return ""
    above = source.text[start : document.start].splitlines()
    comments = [line for line in above if line.startswith("#")]
    return "\n".join((*comments, text)) + "\n"


def _is_kyvernos(resource: Resource) -> bool:
    """Report whether an object is a policy or another object of Kyverno's."""
    return group_of(resource) in (KYVERNO_GROUP, CEL_GROUP) or is_policy(resource)


def sort_in(piece: Piece, estate: Estate) -> None:
    """Sort an object into an estate."""
    resource = piece.resource
    if is_exception(resource):
        estate.exceptions.append(piece)
    elif upstream.is_policy(resource.body) or is_binding(resource) or is_policy(resource):
        if mapping_at(piece.resource.body, "metadata", "labels").get(_MANAGED_BY) != _ENGINE:
            estate.policies.append(piece)
    elif group_of(resource) in (KYVERNO_GROUP, CEL_GROUP):
        message = "no chart of chartkit's carries this kind"
        hint = "go on installing it as you do now"
        estate.rows.append(piece.row(Outcome.LEFT, message, hint))
    elif is_engine(resource):
        estate.engine.append(resource)
    elif group_of(resource) not in _REPORTED:
        estate.objects.append(resource)
