"""Large files that are never in memory as a whole: read in slices, judged, and reported in order.

What some objects say about others is read first, from the slices in which a search for a few words
finds it: Namespaces and definitions of custom kinds. Where an object of those kinds shows up in
another slice, or a policy asks about all objects, the inputs are read as a whole after all. Of
inputs that cannot be read in parts as they are, standard input and what gzip compressed, copies
are.
"""

from __future__ import annotations

import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from chartkit.documents.input_files import is_file
from chartkit.documents.reader import Document
from chartkit.documents.streams import GZIP_CHUNK, gunzipped
from chartkit.documents.unread import exclusion, is_unread, unread
from chartkit.engine import RunnablePolicy
from chartkit.engine.kubernetes.field_faults import NEWEST
from chartkit.engine.kubernetes.kinds import group_of
from chartkit.errors import InputError
from chartkit.helm.kustomize import is_kustomization
from chartkit.model import Diagnostic, Resource, RuleResult
from chartkit.scan.gitops import RELEASE_GROUPS
from chartkit.scan.ineffective import ObjectFaults, overlooked, unused_policies
from chartkit.scan.inputs import (
    STDIN,
    Note,
    included,
    is_chart,
    is_definition,
    is_remote,
    is_stored,
    matching,
    named_objects,
    no_object,
    without_answers,
)
from chartkit.scan.inputs.folders import folder_objects, unread_file, unread_files, walk
from chartkit.scan.parallel.judged import Judged, judged
from chartkit.scan.parallel.partition import (
    NotAList,
    Part,
    Slice,
    is_compressed,
    parts,
    sliced,
    total,
)
from chartkit.scan.parallel.reported import ReportedPart, Reports, Shown
from chartkit.scan.requests import InputOptions
from chartkit.scan.run import ScanContext, run_scan
from chartkit.temporary import TemporaryFolder

if TYPE_CHECKING:
    from chartkit.scan.inputs.remote import RemotePaths


READ_AGAIN: Final = 64 << 20
"""The most bytes of inputs that are read as a whole if something is wrong with them."""
LEAST: Final = 1 << 20
"""The bytes of inputs from which they are streamed: the start of a process must be worth it."""
_SHARED: Final = (
    re.compile(rb"""kind["']?[ ]*:[ ]*["']?(?:Namespace|CustomResourceDefinition)\b"""),
    re.compile(
        rb"""apiVersion["']?[ ]*:[ ]*["']?(?:"""
        + b"|".join(re.escape(group.encode()) for group in sorted(RELEASE_GROUPS))
        + rb")/"
    ),
)
LARGEST: Final = 4 << 30
"""The most bytes of a copy."""
COMPRESSED_LEAST: Final = 1 << 16
"""The bytes of a compressed file from which it may hold enough for parts."""
_CHUNK: Final = 1 << 20


class NotStreamable(Exception):  # noqa: N818 - no error: the inputs are read as a whole
    """Inputs that have to be read as a whole."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Inputs in parts. paths: as the user gave them; size: in bytes; shared: the objects that
    others depend on; remote: the copies of files that are elsewhere."""

    paths: Sequence[str]
    size: int
    parts: Sequence[Part]
    shared: Sequence[Resource]
    remote: RemotePaths | None = None


def open_stream(options: InputOptions, copies: Copies, least: int = LEAST) -> Stream | None:
    """Return inputs in parts; None where they have fewer bytes, or have to be read as a whole.
    copies: gets those of compressed files."""
    if options.crds or options.api_defaults or options.paths.count(STDIN) > 1:
        return None
    if any(is_remote(path) and not is_stored(path) for path in options.paths):
        return None
    try:
        paths, remote = included(matching(options.paths), options.exclude), None
        if any(map(is_stored, paths)):
            from chartkit.scan.inputs.remote import RemotePaths

            remote = RemotePaths((), _drop)
            paths = remote.local(paths)
        files = [_files(path, copies, options.exclude) for path in paths]
        size = total([file for group in files for file in group if isinstance(file, Path)])
        if size < least:
            return None
        is_large = size > READ_AGAIN
        names = copies.name if remote is None else lambda file: remote.name(copies.name(file))
        cut = tuple(parts(_slices(paths, files, names, is_large)))
        surveyed = (item for part in cut if part.is_surveyed for item in _objects(part, _drop))
        shared = list(filter(is_shared, surveyed))
        if any(group_of(resource) in RELEASE_GROUPS for resource in shared):
            return None
    except (NotStreamable, InputError, OSError):
        # Reading as a whole says what is wrong.
        return None
    named = paths if remote is None else list(map(remote.name, paths))
    return Stream(named, size, cut, shared, remote)


def is_shared(resource: Resource) -> bool:
    """Report whether other objects depend on an object."""
    is_namespace = resource.kind == "Namespace" and resource.api_version == "v1"
    return is_namespace or is_definition(resource) or group_of(resource) in RELEASE_GROUPS


def _drop(_: Diagnostic) -> None:
    return None


def _files(path: str, copies: Copies, excluded: Sequence[str]) -> list[Path | Diagnostic]:
    """Return the manifests at a path, with notes on what is not read; raise NotStreamable."""
    where = Path(path)
    if path == STDIN:
        if copies.stdin is None:
            raise NotStreamable
        return [copies.stdin]
    if is_file(where) and not is_kustomization(where):
        files_: list[Path | Diagnostic] = [where]
    elif where.is_dir() and not is_chart(where):
        excludes = exclusion(where, excluded)
        files_ = list(unread_files(where, excludes))
        files = list(walk(where, files_.append, excludes))
        from chartkit.helm.kustomize.kustomization import Tree

        tree = Tree.of(where, files)
        if tree.builds or tree.rows or tree.others():
            raise NotStreamable
        files_ += [file for file in files if not tree.takes(file)]
    else:
        raise NotStreamable
    return [_plain_file(file, copies) if isinstance(file, Path) else file for file in files_]


def _plain_file(file: Path, copies: Copies) -> Path:
    """Return a file, or a copy with what it holds where it is compressed; raise NotStreamable."""
    if file.is_dir():
        raise NotStreamable
    if not is_compressed(file):
        return file
    copy = copies.decompressed(file) if file.stat().st_size >= COMPRESSED_LEAST else None
    if copy is None:
        raise NotStreamable
    return copy


def _slices(
    paths: Sequence[str],
    files: Sequence[Sequence[Path | Diagnostic]],
    named: Callable[[str], str],
    is_large: bool,
) -> Iterator[tuple[Slice | Diagnostic, int, bool]]:
    """Yield the slices of files. is_large: whether a file that is cut into several, of which one
    cannot be read, must not be read again as a whole."""
    for number, (path, group) in enumerate(zip(paths, files, strict=True)):
        is_named = path == STDIN or is_file(path)
        is_sole = is_named and len(paths) == 1
        for file in group:
            if isinstance(file, Path):
                try:
                    for part, size, has_shared in sliced(
                        str(file), number, is_named, _SHARED, named(str(file))
                    ):
                        is_required = is_sole or (part.end is not None and not is_large)
                        yield replace(part, is_required=is_required), size, has_shared
                except InputError as error:
                    if is_sole:
                        raise
                    yield unread(error), 0, False
            elif file.location is None:
                yield file, 0, False
            else:
                location = replace(file.location, file=named(file.location.file))
                yield replace(file, location=location), 0, False


def _objects(part: Part, note: Note, counts: Counter[int] | None = None) -> list[Resource]:
    """Return the objects of a part; counts: how many each path of the user's has."""
    resources: list[Resource] = []
    for item in part.slices:
        if isinstance(item, Diagnostic):
            note(item)
            continue
        if item.items is not None:
            try:
                here = without_answers(item.listed(item.items), item.is_named, note)
            except NotAList:
                raise NotStreamable from None
        else:
            try:
                documents: list[Document] = item.read()
                here = (named_objects if item.is_named else folder_objects)(documents, note)
            except InputError as error:
                if item.is_required:
                    raise
                if item.is_named or item.end is not None:
                    note(unread(error))
                else:
                    note(unread_file(Path(item.file), error, item.content))
                continue
        resources += here
        if counts is not None:
            counts[item.number] += len(here)
    return resources


@dataclass(slots=True)
class Answer:
    """The outcome of a part. counts: of objects, by the number of the user's path; notes: of
    reading; overlooked: what has no effect; faults: of kinds and fields; unused: policies that
    judge nothing; left: the kinds
    and namespaces of objects that are not selected; judged: objects with their results, or
    reported: what the process wrote of them; is_whole: whether the inputs have to be read as a
    whole."""

    counts: Counter[int] = field(default_factory=Counter)
    notes: list[Diagnostic] = field(default_factory=list)
    overlooked: list[Diagnostic] = field(default_factory=list)
    faults: ObjectFaults = field(default_factory=ObjectFaults)
    unused: list[Resource] = field(default_factory=list)
    left: set[tuple[str, str, str]] = field(default_factory=set)
    judged: list[Judged] = field(default_factory=list)
    reported: ReportedPart | None = None
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class PartJudge:
    """The judgement of parts. policies: that run; looks_at: whether an object is selected; judging:
    the policies that judge, by kind, namespace and name; completed: adds the results that no policy
    gives; shown: what reports show of places, None where this is the process that reports;
    reports: begins the reports of a process that writes them, None where another one does;
    minor: the version of Kubernetes that the objects are for."""

    policies: Sequence[RunnablePolicy]
    context: ScanContext
    looks_at: Callable[[Resource], bool]
    honours_exceptions: bool
    judging: Collection[tuple[str, str, str]]
    completed: Callable[[Resource, Sequence[RuleResult]], Sequence[RuleResult]]
    shown: Shown | None
    reports: Callable[[], Reports] | None = None
    minor: int = NEWEST

    def __call__(self, part: Part) -> Answer:
        answer = Answer()
        try:
            objects = _objects(part, answer.notes.append, answer.counts)
        except NotStreamable:
            answer.is_whole = True
            return answer
        if not part.is_surveyed and any(map(is_shared, objects)):
            answer.is_whole = True
            return answer
        answer.overlooked = list(overlooked(objects, self.honours_exceptions))
        answer.faults = ObjectFaults(self.minor)
        answer.faults.add(objects)
        answer.unused = [
            Resource({"kind": policy.kind, "metadata": {"name": policy.name}}, policy.location)
            for policy in unused_policies(objects, self.judging)
        ]
        selected = []
        for resource in objects:
            if self.looks_at(resource):
                selected.append(resource)
            else:
                answer.left.add((resource.api_version, resource.kind, resource.namespace))

        reports, shown = None if self.reports is None else self.reports(), self.shown

        def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
            results = self.completed(resource, results)
            if reports is not None:
                reports.add(resource, results)
            elif shown is not None:
                answer.judged.append(judged(resource, results, shown))
            else:
                answer.judged.append(Judged(resource, results, None))

        run_scan(self.policies, selected, sink, self.context)
        if reports is not None:
            answer.reported = reports.part()
        return answer


class Reading:
    """The notes and counts of parts, in the order in which a whole input gives them."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._counts: Counter[int] = Counter()
        self._notes: list[Diagnostic] = []
        self._overlooked: list[Diagnostic] = []
        self._faults = ObjectFaults()
        self._unused: list[Resource] = []

    def add(self, answer: Answer) -> None:
        """Add what the next part says; raise NotStreamable."""
        if answer.is_whole:
            raise NotStreamable
        self._counts.update(answer.counts)
        self._notes += answer.notes
        self._overlooked += answer.overlooked
        self._faults.join(answer.faults)
        self._unused += answer.unused

    @property
    def notes(self) -> Sequence[Diagnostic]:
        """The notes of reading, then those about objects without effect."""
        from chartkit.scan.ineffective import unused_note

        faults = self._faults.diagnostics()
        return (*self._notes, *self._overlooked, *unused_note(self._unused), *faults)

    def require_objects(self) -> None:
        """Add a row for each path without objects; raise InputError where it is the only one."""
        unread_files = [
            Path(note.location.file) for note in filter(is_unread, self._notes) if note.location
        ]
        for number, path in enumerate(self.stream.paths):
            if self._counts[number] or any(file.is_relative_to(path) for file in unread_files):
                continue
            if len(self.stream.paths) == 1:
                raise no_object(path)
            self._notes.append(unread(no_object(path)))


class Copies:
    """The copies of one run. stdin: of standard input, None where it cannot be read in parts."""

    def __init__(self) -> None:
        self.stdin: Path | None = None
        self._folder: TemporaryFolder | None = None
        self._names: dict[str, str] = {}

    def name(self, file: str) -> str:
        """Return the name of a file in messages."""
        return self._names.get(file, file)

    def read_stdin(self, stdin: TextIO) -> TextIO:
        """Copy standard input, and return its copy to be read in its place; itself where it is no
        file of the system. Raise InputError where there is no room."""
        try:
            number = stdin.fileno()
        except (OSError, ValueError):
            return stdin
        file = self._file("<stdin>")
        if _copied(iter(lambda: os.read(number, _CHUNK), b""), file):
            self.stdin = file
        return file.open(encoding="utf-8")

    def decompressed(self, compressed: Path) -> Path | None:
        """Return a file with what gzip compressed; None where the content is broken, too much, or
        of another program. Raise InputError where there is no room."""
        file = self._file(str(compressed))
        try:
            with compressed.open("rb") as stream:
                pieces = iter(lambda: stream.read(GZIP_CHUNK), b"")
                return file if _copied(gunzipped(pieces), file) else None
        except (OSError, EOFError, zlib.error):
            return None

    def close(self) -> None:
        """Remove the copies, which otherwise stay until the process ends."""
        if self._folder is not None:
            self._folder.close()

    def _file(self, name: str) -> Path:
        if self._folder is None:
            self._folder = TemporaryFolder()
        file = self._folder.path / str(len(self._names))
        self._names[str(file)] = name
        return file


def _copied(chunks: Iterable[bytes], file: Path) -> bool:
    """Copy what is read to a file; return whether all of it is there: no more than is copied, and
    nothing that no text has."""
    size = 0
    with file.open("wb") as copy:
        for chunk in chunks:
            size += len(chunk)
            try:
                copy.write(chunk)
            except OSError as error:
                what = f"a temporary copy of the input cannot be written: {error.strerror or error}"
                raise InputError(what, hint="set TMPDIR to a folder with room") from None
            if size > LARGEST or b"\0" in chunk:
                return False
    return True
