"""The server: documents of the editor, checks after its changes, answers to its requests."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from chartkit import __version__
from chartkit.addons.lsp.checks import Checks, Found, Subject
from chartkit.addons.lsp.judging import Token
from chartkit.addons.lsp.problems import MOST, Problem, lines_of, span_of
from chartkit.addons.lsp.session import Session
from chartkit.addons.lsp.worker import CHECK, Worker, answered
from chartkit.documents.input_files import EDITED
from chartkit.model import Location, Severity

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
        for path in {**before, **(found or {})}:
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
        ls.check_open()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(ls: ChartkitServer, params: types.DidCloseTextDocumentParams) -> None:
        ls.closed(params.text_document.uri)

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
