"""The server: documents of the editor, checks after its changes, answers and code actions."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from itertools import count, product
from pathlib import Path
from queue import PriorityQueue
from threading import Thread
from typing import Any, Final, TypeVar

import click
from lsprotocol import types
from lsprotocol.types import Position, Range, TextEdit
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from chartkit import __version__
from chartkit.addon import addons
from chartkit.addons.lsp.answers import completions, of_place, of_problems
from chartkit.addons.lsp.checks import Checks, Found, Subject
from chartkit.addons.lsp.cursor import Cursor, cursor_at
from chartkit.addons.lsp.judging import (
    MOST,
    CancelledError,
    Problem,
    Token,
    Violation,
    lines_of,
    span_of,
)
from chartkit.addons.lsp.session import Session
from chartkit.documents.input_files import EDITED
from chartkit.documents.reader import Document, read_source
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import ChartkitError, InputError, contained
from chartkit.helm.template_places import TemplatePlaces
from chartkit.model import Json, Location, Severity, mapping_at, text_of
from chartkit.safe_text import shown
from chartkit.scan.exceptions.written import exception_of
from chartkit.scan.gate import ANNOTATION, written_rule
from chartkit.scan.gate.suppressions import Suppression

_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class Action:
    """A code action for a problem. edits: by file; creates: whether the files are new;
    is_best: whether it is what there is to do first."""

    title: str
    edits: Mapping[str, Sequence[TextEdit]]
    problem: Problem
    creates: bool = False
    is_best: bool = False


def actions(problems: Sequence[Problem], whole: bool) -> Iterator[Action]:
    """Yield the actions for problems of one place. whole: whether the editor asks for what takes
    longer, too: fixes."""
    chosen = [(item, item.violation) for item in problems if item.violation is not None][:_MOST]
    is_fixable = whole and "satisfy" in addons()
    makers = (_fix, _suppression, _exception) if is_fixable else (_suppression, _exception)
    for make, (problem, violation) in product(makers, chosen):
        yield from make(problem, violation)


def _fix(problem: Problem, violation: Violation) -> Iterator[Action]:
    """Yield the changes that `chartkit scan --fix` would make, if they end the violation."""
    from chartkit.addons.satisfy.fix import FixRun
    from chartkit.addons.satisfy.fix.files import SourceFiles
    from chartkit.addons.satisfy.fix.model import Subject
    from chartkit.addons.satisfy.wants import key_of

    policies, requests = violation.policies, violation.requests
    files = SourceFiles([str(_root(violation))], "", False)
    run = FixRun(files, requests, policies.environment, policies.context)
    bodies = [id(resource.body) for resource in requests.objects]
    number = bodies.index(id(violation.resource.body))
    rules = frozenset({key_of(violation.result)})
    subject = Subject(number, requests.objects[number], rules)
    run.solve(subject)
    texts = [text for batch in run.batches([subject]) for text in batch.files]
    changes = {
        str(text.path.resolve()): _edits(text.before, text.after)
        for text in texts
        if text.path is not None
    }
    if any(changes.values()) and subject.fixed:
        yield Action(f"Fix {problem.code}", changes, problem, is_best=True)


def _root(violation: Violation) -> Path:
    """Return the file that an object is in, or the folder of its chart."""
    location = violation.resource.location
    places = location.places
    return places.chart.inputs.shown if isinstance(places, TemplatePlaces) else Path(location.file)


def _suppression(problem: Problem, violation: Violation) -> Iterator[Action]:
    """Yield the annotation that suppresses a finding, for the author to give the reason."""
    places, allowed = violation.resource.location.places, violation.policies.allows_suppressions
    if not isinstance(places, Document) or violation.resource.location.path or not allowed:
        return
    from chartkit.addons.satisfy.fix.files import with_documents
    from chartkit.addons.satisfy.fix.model import NoPlaceError, changed
    from chartkit.documents.reader import read_text

    file = places.source.file
    text, rule = read_source(file), written_rule(violation.result.rule)
    item = f"- policy: {violation.result.policy}\n" + (f"  rule: {rule}\n" if rule else "")
    annotations = mapping_at(places.body, "metadata", "annotations")
    value = text_of(annotations.get(ANNOTATION))
    value += ("\n" if value and not value.endswith("\n") else "") + item + '  reason: ""\n'
    try:
        body: Json = changed(places.body, ("metadata", "annotations", ANNOTATION), value)
        number = [document.start for document in read_text(text, file)].index(places.start)
        after = with_documents(text, file, {number: body})
    except (InputError, NoPlaceError, ValueError):
        return
    edits = {str(Path(file).resolve()): _edits(text, after)}
    yield Action(f"Suppress {problem.code} with a reason", edits, problem)


def _exception(problem: Problem, violation: Violation) -> Iterator[Action]:
    """Yield a new file with the PolicyException of a finding, for the author to give the reason."""
    result, folder = violation.result, _root(violation).parent
    suppression = Suppression(result.policy, result.rule, "", None, problem.location)
    for policy in violation.requests.policies.policies:
        if policy.policy.id != result.policy_id:
            continue
        body = exception_of(violation.resource, suppression, policy, namespace="kyverno")
        if body and not (path := folder / f"{body['metadata']['name']}.yaml").exists():
            edits = {str(path.resolve()): _edits("", dump_yaml(body))}
            yield Action(f"Write an exception from {problem.code}", edits, problem, creates=True)


def _edits(before: str, after: str) -> list[TextEdit]:
    """Return the edits of lines that turn one text into another."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        TextEdit(Range(Position(start, 0), Position(end, 0)), "".join(new[first:last]))
        for tag, start, end, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]


T = TypeVar("T")
REQUEST, CHECK = range(2)
"""The ranks of jobs: requests first."""
DELAY: Final = 0.05
"""The seconds without a further change after which a file is checked."""
_SEVERITIES: Final = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


class _Worker:
    """The one thread that checks files and answers requests, one after another: what it works with
    needs no locks. A job that fails ends no other."""

    def __init__(self) -> None:
        self._jobs: PriorityQueue[tuple[int, int, Callable[[], None]]] = PriorityQueue()
        self._numbers = count()
        Thread(target=self._work, name="checks", daemon=True).start()

    def submit(self, rank: int, job: Callable[[], T], otherwise: T) -> Future[T]:
        """Have a job done. rank: `REQUEST` or `CHECK`; otherwise: the answer if it fails."""
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                future.set_result(_answered(job, otherwise))

        self._jobs.put((rank, next(self._numbers), run))
        return future

    def _work(self) -> None:
        while True:
            self._jobs.get()[2]()


def _answered(job: Callable[[], T], otherwise: T) -> T:
    """Return the answer of a job, or another one where it fails, and write a bug to stderr."""

    def failed(error: Exception, message: str) -> T:
        if not isinstance(error, ChartkitError | CancelledError):
            click.echo(f"chartkit lsp: {shown(message)}", err=True)
        return otherwise

    return contained(job, failed)


class ChartkitServer(LanguageServer):
    """A server of one editor. Documents that it has open count in place of those on the disk."""

    def __init__(self, session: Session) -> None:
        super().__init__("chartkit", __version__)
        self._session = session
        self._checks = Checks(session)
        self._worker = _Worker()
        self._pending: dict[Path, tuple[asyncio.TimerHandle, Token]] = {}
        """The checks that wait or run, by what they check."""
        self._found: dict[Path, Found] = {}
        """The problems that each check found, by file."""
        self._uris: dict[str, str] = {}
        """The addresses of open files as the editor writes them, by their paths."""
        triggers = types.CompletionOptions(trigger_characters=[".", "{", " "])
        kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix])
        features: dict[str, tuple[Callable[[Any], Any], Any]] = {
            types.INITIALIZED: (self._initialized, None),
            types.TEXT_DOCUMENT_DID_OPEN: (self._changed, None),
            types.TEXT_DOCUMENT_DID_CHANGE: (self._changed, None),
            types.TEXT_DOCUMENT_DID_SAVE: (self._saved, None),
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES: (self._saved, None),
            types.TEXT_DOCUMENT_DID_CLOSE: (self._closed, None),
            types.TEXT_DOCUMENT_HOVER: (self._hover, None),
            types.TEXT_DOCUMENT_COMPLETION: (self._complete, triggers),
            types.TEXT_DOCUMENT_CODE_ACTION: (self._act, kinds),
        }
        for name, (answer, options) in features.items():
            self.feature(name, options)(partial(answer))

    def _initialized(self, _params: types.InitializedParams) -> None:
        folders = [folder.uri for folder in self.workspace.folders.values()]
        given = map(path_of, folders or filter(None, [self.workspace.root_uri]))
        self._session.roots = [path for path in given if path is not None]

    def _changed(
        self, params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams
    ) -> None:
        uri = params.text_document.uri
        if (path := path_of(uri)) is not None:
            self._uris[str(path)] = uri
            text = self.workspace.get_text_document(uri).source
            EDITED[str(path)] = text.encode("utf-8", "surrogatepass")
            self._check(path)

    def _saved(self, _params: Any) -> None:
        self._session.shapes.clear()
        for path in self._uris:
            self._check(Path(path))

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None and self._uris.pop(str(path), None) is not None:
            EDITED.pop(str(path), None)
            self._check(path)

    def _check(self, path: Path) -> None:
        """Check what a file belongs to, once no further change comes; forget what is closed."""
        subject = _answered(lambda: self._checks.subject_of(path), None)
        if subject is None:
            return
        if subject.root in self._pending:
            timer, token = self._pending.pop(subject.root)
            timer.cancel()
            token.cancelled.set()
        token = Token()
        if not self._open_in(subject.root):
            self._finish(subject, token, {str(path): []})
            return
        timer = asyncio.get_running_loop().call_later(DELAY, self._start, subject, token)
        self._pending[subject.root] = timer, token

    def _open_in(self, root: Path) -> list[str]:
        return [path for path in self._uris if Path(path).is_relative_to(root)]

    def _start(self, subject: Subject, token: Token) -> None:
        loop = asyncio.get_running_loop()

        def run() -> Found | None:
            return subject.run(token) if token.goes_on() else None

        def finish(done: Any) -> None:
            # The loop is closed where the editor has ended the server meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._finish, subject, token, done.result())

        self._worker.submit(CHECK, run, None).add_done_callback(finish)

    def _finish(self, subject: Subject, token: Token, problems: Found | None) -> None:
        if token.cancelled.is_set():
            return
        self._pending.pop(subject.root, None)
        own, before = self._open_in(subject.root), self._found.pop(subject.root, {})
        if own and problems:
            self._found[subject.root] = problems
        for path in {*before, *(problems or ()), *own}:
            lines, uri = lines_of(path), self._uri(path)
            diagnostics = [self._diagnostic(problem, lines) for problem in self._problems(path)]
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, diagnostics, self._version(uri))
            )

    def _problems(self, path: str) -> list[Problem]:
        """Return the problems of a file, of all checks that found some."""
        problems = (problem for files in [*self._found.values()] for problem in files.get(path, ()))
        return list(dict.fromkeys(problems))[:MOST]

    def _uri(self, path: str) -> str:
        """Return the address of a file, as the editor writes it where it has it open."""
        return self._uris.get(path) or from_fs_path(path) or ""

    def _version(self, uri: str) -> int | None:
        document = self.workspace.text_documents.get(uri)
        return document.version if document is not None else None

    def _range(self, location: Location, lines: Sequence[str]) -> types.Range:
        """Return the range of what stands at a location, in the units of the editor."""
        line, start, end = span_of(location, lines)
        whole = types.Range(types.Position(line, start), types.Position(line, end))
        return self.workspace.position_codec.range_to_client_units(list(lines), whole)

    def _diagnostic(self, problem: Problem, lines: Sequence[str]) -> types.Diagnostic:
        """Return a problem as the editor shows it; lines: of its file."""
        related = []
        for location, text in problem.others:
            file = str(Path(location.file).resolve())
            other = types.Location(self._uri(file), self._range(location, lines_of(file)))
            related.append(types.DiagnosticRelatedInformation(other, text))
        severity, span = _SEVERITIES[problem.severity], self._range(problem.location, lines)
        return types.Diagnostic(
            span, problem.message, severity, problem.code, source="chartkit",
            related_information=related or None,
        )  # fmt: skip

    async def _asked(self, uri: str, answer: Callable[[Path], T], otherwise: T) -> T:
        """Return the worker's answer to a request about an open file."""
        path = path_of(uri)
        if path is None or str(path) not in self._uris:
            return otherwise
        job = self._worker.submit(REQUEST, lambda: answer(path), otherwise)
        return await asyncio.wrap_future(job)

    def _cursor(self, path: Path, position: types.Position) -> Cursor:
        lines = lines_of(str(path))
        at = self.workspace.position_codec.position_from_client_units(lines, position)
        return cursor_at(lines, at.line, at.character)

    def _problems_at(self, path: Path, span: types.Range) -> list[Problem]:
        """Return the problems in the lines of a range, those that begin before it first."""
        lines = lines_of(str(path))
        places = [
            (self._range(problem.location, lines), problem) for problem in self._problems(str(path))
        ]
        inside = [
            (not reach.start <= span.start <= reach.end, problem)
            for reach, problem in places
            if span.start.line <= reach.start.line <= span.end.line
        ]
        return [problem for _, problem in sorted(inside, key=lambda pair: pair[0])]

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        def answer(path: Path) -> types.Hover | None:
            problems = self._problems_at(path, types.Range(params.position, params.position))
            root = partial(self._session.shape_of, path)
            own = of_place(self._cursor(path, params.position), root)
            text = "\n\n---\n\n".join([*of_problems(problems), *filter(None, [own])])
            for folder in self._session.roots:
                text = text.replace(f"{folder}{os.sep}", "")
            markup = types.MarkupContent(types.MarkupKind.Markdown, text)
            return types.Hover(markup) if text else None

        return await self._asked(params.text_document.uri, answer, None)

    async def _complete(self, params: types.CompletionParams) -> list[types.CompletionItem]:
        def answer(path: Path) -> list[types.CompletionItem]:
            cursor = self._cursor(path, params.position)
            return [*completions(cursor, partial(self._session.shape_of, path))]

        return await self._asked(params.text_document.uri, answer, [])

    async def _act(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        workspace = self.client_capabilities.workspace
        edits = workspace.workspace_edit if workspace else None
        operations = edits.resource_operations if edits else None
        creates = types.ResourceOperationKind.Create in (operations or ())
        whole = params.context.trigger_kind is not types.CodeActionTriggerKind.Automatic

        def answer(path: Path) -> list[types.CodeAction]:
            offered = actions(self._problems_at(path, params.range), whole)
            return [self._action(item) for item in offered if creates or not item.creates]

        return await self._asked(params.text_document.uri, answer, [])

    def _action(self, action: Action) -> types.CodeAction:
        edit = types.WorkspaceEdit(document_changes=[*self._changes(action)])
        lines = lines_of(str(Path(action.problem.location.file).resolve()))
        about, kind = [self._diagnostic(action.problem, lines)], types.CodeActionKind.QuickFix
        return types.CodeAction(action.title, kind, about, action.is_best or None, edit=edit)

    def _changes(self, action: Action) -> Iterator[types.CreateFile | types.TextDocumentEdit]:
        for path, edits in action.edits.items():
            uri = self._uri(path)
            if action.creates:
                yield types.CreateFile(uri)
            document = types.OptionalVersionedTextDocumentIdentifier(uri, self._version(uri))
            yield types.TextDocumentEdit(document, edits)


def path_of(uri: str) -> Path | None:
    """Return the real path of a file's address; None for what is not a file."""
    with suppress(OSError, ValueError):
        path = to_fs_path(uri) if uri.startswith("file:") else None
        return Path(path).resolve() if path else None
    return None


def serve(session: Session) -> None:
    """Serve the editor at standard input and output until it ends the server."""
    logging.basicConfig(stream=sys.stderr, level=logging.CRITICAL)
    output = sys.stdout.buffer
    # What any part of the program prints must not be taken for a message.
    sys.stdout = sys.stderr
    ChartkitServer(session).start_io(stdout=output)
