"""The server: documents of the editor, checks after its changes, answers to its requests."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from chartkit import __version__
from chartkit.addons.lsp import actions, hover
from chartkit.addons.lsp.checks import Checks, Found, Subject
from chartkit.addons.lsp.completion import completions
from chartkit.addons.lsp.cursor import Cursor, cursor_at
from chartkit.addons.lsp.judging import Token
from chartkit.addons.lsp.problems import MOST, Problem, lines_of, span_of
from chartkit.addons.lsp.session import Session
from chartkit.addons.lsp.worker import CHECK, REQUEST, Worker, answered
from chartkit.documents.input_files import EDITED
from chartkit.model import Location, Severity

T = TypeVar("T")
DELAY: Final = 0.05
"""The seconds without a further change after which a file is checked."""
SOURCE: Final = "chartkit"
_SEVERITIES: Final = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


@dataclass(slots=True)
class _Pending:
    """A check that waits for its turn, or runs."""

    timer: asyncio.TimerHandle
    token: Token = field(default_factory=Token)


class ChartkitServer(LanguageServer):
    """A server of one editor. Documents that it has open count in place of those on the disk."""

    def __init__(self, session: Session) -> None:
        super().__init__("chartkit", __version__)
        self.session = session
        self.checks = Checks(session)
        self.worker = Worker()
        self._pending: dict[str, _Pending] = {}
        self._found: dict[str, Found] = {}
        """The problems of each check, by file."""
        self._uris: dict[str, str] = {}
        """The addresses of open files as the editor writes them, by their paths."""

    def opened(self, uri: str) -> None:
        """Take the text of an open document, and check what it belongs to."""
        path = path_of(uri)
        if path is None:
            return
        self._uris[str(path)] = uri
        text = self.workspace.get_text_document(uri).source
        EDITED[str(path)] = text.encode("utf-8", "surrogatepass")
        self.check(path)

    def closed(self, uri: str) -> None:
        """Take a document from the disk again."""
        path = path_of(uri)
        if path is None or self._uris.pop(str(path), None) is None:
            return
        EDITED.pop(str(path), None)
        self.check(path)

    def check(self, path: Path) -> None:
        """Check what a file belongs to, once no further change comes."""
        subject = answered(lambda: self.checks.subject_of(path), None)
        if subject is None:
            return
        before = self._pending.pop(subject.key, None)
        if before is not None:
            before.timer.cancel()
            before.token.cancelled.set()
        timer = asyncio.get_running_loop().call_later(DELAY, self._start, subject)
        self._pending[subject.key] = _Pending(timer)

    def check_open(self) -> None:
        """Check all open files."""
        for path in list(self._uris):
            self.check(Path(path))

    def _start(self, subject: Subject) -> None:
        token = self._pending[subject.key].token
        loop = asyncio.get_running_loop()

        def run() -> Found | None:
            found = subject.run(token) if token.goes_on() else None
            token.goes_on()
            return found

        job = self.worker.submit(CHECK, run, None)
        job.add_done_callback(
            lambda done: loop.call_soon_threadsafe(self._finish, subject, token, done.result())
        )

    def _finish(self, subject: Subject, token: Token, found: Found | None) -> None:
        if token.cancelled.is_set():
            return
        self._pending.pop(subject.key, None)
        before = self._found.pop(subject.key, {})
        if found:
            self._found[subject.key] = found
        own = [path for path in self._uris if Path(path).is_relative_to(subject.root)]
        for path in {*before, *(found or ()), *own}:
            self._publish(path)

    def problems(self, path: str) -> list[Problem]:
        """Return the problems of a file, of all checks that found some."""
        found = (each for files in self._found.values() for each in files.get(path, ()))
        return list(dict.fromkeys(found))[:MOST]

    def uri_of(self, path: str) -> str:
        """Return the address of a file, as the editor writes it where it has it open."""
        return self._uris.get(path) or from_fs_path(path) or ""

    def range_of(self, location: Location, lines: Sequence[str]) -> types.Range:
        """Return the range of what stands at a location, in the units of the editor."""
        span = span_of(location, lines)
        whole = types.Range(
            types.Position(span.line, span.start), types.Position(span.line, span.end)
        )
        return self.workspace.position_codec.range_to_client_units(list(lines), whole)

    def diagnostic(self, problem: Problem, lines: Sequence[str]) -> types.Diagnostic:
        """Return a problem as the editor shows it; lines: of its file."""
        related = []
        for location, text in problem.others:
            file = str(Path(location.file).resolve())
            place = self.range_of(location, lines_of(file))
            related.append(
                types.DiagnosticRelatedInformation(types.Location(self.uri_of(file), place), text)
            )
        return types.Diagnostic(
            self.range_of(problem.location, lines),
            problem.message,
            _SEVERITIES[problem.severity],
            problem.code,
            source=SOURCE,
            related_information=related or None,
        )

    def cursor(self, path: Path, position: types.Position) -> Cursor:
        """Return the place of a position in a file."""
        lines = lines_of(str(path))
        place = self.workspace.position_codec.position_from_client_units(lines, position)
        return cursor_at(lines, place.line, place.character)

    async def asked(self, uri: str, answer: Callable[[Path], T], otherwise: T) -> T:
        """Return the worker's answer to a request about a file."""
        path = path_of(uri)
        if path is None or str(path) not in self._uris:
            return otherwise
        job = self.worker.submit(REQUEST, lambda: answer(path), otherwise)
        return await asyncio.wrap_future(job)

    def problems_at(self, path: Path, span: types.Range) -> list[Problem]:
        """Return the problems of a file that a range touches, those that it is in first."""
        lines = lines_of(str(path))
        found = []
        for problem in self.problems(str(path)):
            place = self.range_of(problem.location, lines)
            if place.start.line <= span.end.line and span.start.line <= place.end.line:
                found.append((not place.start <= span.start <= place.end, problem))
        return [problem for _, problem in sorted(found, key=lambda each: each[0])]

    def hover(self, path: Path, position: types.Position) -> types.Hover | None:
        """Return what is to be said of a place."""
        problems = self.problems_at(path, types.Range(position, position))
        cursor = self.cursor(path, position)
        own = hover.of_place(cursor, partial(self.session.shape_of, path))
        texts = [*hover.of_problems(problems), *filter(None, [own])]
        text = "\n\n---\n\n".join(texts)
        markup = types.MarkupContent(types.MarkupKind.Markdown, text)
        return types.Hover(markup) if text else None

    def code_actions(self, path: Path, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Return what can be done about the problems at a range."""
        is_automatic = params.context.trigger_kind is types.CodeActionTriggerKind.Automatic
        problems = self.problems_at(path, params.range)
        found = actions.actions(problems, str(path), not is_automatic)
        edits = self.client_capabilities.workspace and (
            self.client_capabilities.workspace.workspace_edit
        )
        creates = types.ResourceOperationKind.Create in (
            (edits and edits.resource_operations) or ()
        )
        return [self._action(each) for each in found if creates or not each.creates]

    def _action(self, action: actions.Action) -> types.CodeAction:
        changes: list[Any] = []
        for path, edits in action.edits.items():
            uri = self.uri_of(path)
            if action.creates:
                changes.append(types.CreateFile(uri))
            document = self.workspace.text_documents.get(uri)
            version = document.version if document is not None else None
            texts = [
                types.TextEdit(
                    types.Range(types.Position(each.start, 0), types.Position(each.end, 0)),
                    each.text,
                )
                for each in edits
            ]
            identifier = types.OptionalVersionedTextDocumentIdentifier(uri, version)
            changes.append(types.TextDocumentEdit(identifier, texts))
        about = [
            self.diagnostic(each, lines_of(str(Path(each.location.file).resolve())))
            for each in action.problems
        ]
        return types.CodeAction(
            action.title,
            types.CodeActionKind.QuickFix,
            about,
            action.is_best or None,
            edit=types.WorkspaceEdit(document_changes=changes),
        )

    def _publish(self, path: str) -> None:
        lines = lines_of(path)
        uri = self.uri_of(path)
        diagnostics = [self.diagnostic(each, lines) for each in self.problems(path)]
        document = self.workspace.text_documents.get(uri)
        version = document.version if document is not None else None
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, diagnostics, version)
        )

    def shutdown(self) -> None:
        self.worker.close()
        super().shutdown()  # type: ignore[no-untyped-call]


def path_of(uri: str) -> Path | None:
    """Return the real path of a file's address; None for what is no file."""
    try:
        path = to_fs_path(uri) if uri.startswith("file:") else None
        return Path(path).resolve() if path else None
    except (OSError, ValueError):
        return None


def make(session: Session) -> ChartkitServer:
    """Return a server with its features."""
    server = ChartkitServer(session)

    @server.feature(types.INITIALIZED)
    def initialized(ls: ChartkitServer, _params: types.InitializedParams) -> None:
        folders = [folder.uri for folder in ls.workspace.folders.values()]
        given = folders or ([ls.workspace.root_uri] if ls.workspace.root_uri else [])
        ls.session.roots = [path for path in map(path_of, given) if path is not None]

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(ls: ChartkitServer, params: types.DidOpenTextDocumentParams) -> None:
        ls.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(ls: ChartkitServer, params: types.DidChangeTextDocumentParams) -> None:
        ls.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(ls: ChartkitServer, _params: types.DidSaveTextDocumentParams) -> None:
        ls.session.shapes.clear()
        ls.check_open()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(ls: ChartkitServer, params: types.DidCloseTextDocumentParams) -> None:
        ls.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(ls: ChartkitServer, params: types.HoverParams) -> types.Hover | None:
        uri, position = params.text_document.uri, params.position
        return await ls.asked(uri, lambda path: ls.hover(path, position), None)

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[".", "{", " "])
    )
    async def completed(
        ls: ChartkitServer, params: types.CompletionParams
    ) -> list[types.CompletionItem]:
        def answer(path: Path) -> list[types.CompletionItem]:
            cursor = ls.cursor(path, params.position)
            return completions(cursor, partial(ls.session.shape_of, path))

        return await ls.asked(params.text_document.uri, answer, [])

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix])
    )
    async def acted(ls: ChartkitServer, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        return await ls.asked(uri, lambda path: ls.code_actions(path, params), [])

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(ls: ChartkitServer, _params: Any) -> None:
        ls.check_open()

    return server


def serve(session: Session) -> None:
    """Serve the editor at standard input and output until it ends the server."""
    logging.basicConfig(stream=sys.stderr, level=logging.CRITICAL)
    output = sys.stdout.buffer
    # What any part of the program prints must not be taken for a message.
    sys.stdout = sys.stderr
    make(session).start_io(stdout=output)
