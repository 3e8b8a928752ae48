"""An editor that drives the command `chartkit lsp` over its standard streams."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

SECONDS = 120
"""The longest wait for an answer, on a machine that does much else."""

Diagnostics = Sequence[types.Diagnostic]


@dataclass
class Editor:
    """An editor with one server; versions: of the open documents."""

    client: LanguageClient
    versions: dict[str, int] = field(default_factory=dict)

    def open(self, path: Path, text: str | None = None) -> None:
        """Open a file, with a text of its own where that is given."""
        uri = path.resolve().as_uri()
        self.versions[uri] = 1
        text = path.read_text("utf-8", "replace") if text is None else text
        item = types.TextDocumentItem(uri, "yaml", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def replace(self, path: Path, span: tuple[int, int, int, int], text: str) -> None:
        """Replace a range of an open document."""
        uri = path.resolve().as_uri()
        self.versions[uri] += 1
        start, end = types.Position(*span[:2]), types.Position(*span[2:])
        change = types.TextDocumentContentChangePartial(types.Range(start, end), text)
        document = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def close(self, path: Path) -> None:
        """Close a document."""
        uri = path.resolve().as_uri()
        document = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    async def diagnostics(
        self, path: Path, wanted: Callable[[Diagnostics], bool] = lambda _: True
    ) -> Diagnostics:
        """Return the diagnostics of a file once they are as they are wanted."""
        uri = path.resolve().as_uri()

        async def found() -> Diagnostics:
            while True:
                there = self.client.diagnostics.get(uri)
                if there is not None and wanted(there):
                    return there
                await self.client.protocol.wait_for_notification_async(
                    types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
                )

        try:
            return await asyncio.wait_for(found(), SECONDS)
        except TimeoutError:
            raise AssertionError(f"there is only {self.client.diagnostics.get(uri)}") from None

    async def hover(self, path: Path, line: int, character: int) -> str:
        """Return what is shown of a position; empty for nothing."""
        found = await self.client.text_document_hover_async(
            types.HoverParams(_document(path), types.Position(line, character))
        )
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def completions(self, path: Path, line: int, character: int) -> list[str]:
        """Return what can be written at a position."""
        found = await self.client.text_document_completion_async(
            types.CompletionParams(_document(path), types.Position(line, character))
        )
        assert isinstance(found, Sequence)
        return [item.label for item in found]

    async def actions(
        self, path: Path, line: int, trigger: types.CodeActionTriggerKind | None = None
    ) -> dict[str, types.CodeAction]:
        """Return the actions for a line by their titles."""
        place = types.Range(types.Position(line, 0), types.Position(line, 80))
        context = types.CodeActionContext([], trigger_kind=trigger)
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(_document(path), place, context)
        )
        return {each.title: each for each in found or () if isinstance(each, types.CodeAction)}


def _document(path: Path) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(path.resolve().as_uri())


def applied(action: types.CodeAction, texts: Mapping[Path, str]) -> dict[Path, str]:
    """Return the texts of files after an action."""
    assert action.edit is not None
    found = dict(texts)
    for change in action.edit.document_changes or ():
        if isinstance(change, types.CreateFile):
            found[_path(change.uri)] = ""
        elif isinstance(change, types.TextDocumentEdit):
            path = _path(change.text_document.uri)
            lines = found[path].splitlines(keepends=True)
            for edit in sorted(change.edits, key=lambda each: -each.range.start.line):
                assert isinstance(edit, types.TextEdit)
                lines[edit.range.start.line : edit.range.end.line] = [edit.new_text]
            found[path] = "".join(lines)
    return found


def _path(uri: str) -> Path:
    path = to_fs_path(uri)
    assert path is not None
    return Path(path)


@asynccontextmanager
async def editor(
    folder: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> AsyncIterator[Editor]:
    """Give an editor with a folder; variables: further ones of the server's environment."""
    environment = {**os.environ, **(variables or {})}
    command = [sys.executable, "-m", "chartkit", "lsp", *arguments]
    client = await ClientServerConfig(command, server_env=environment).start()
    assert isinstance(client, LanguageClient)
    root = folder.resolve().as_uri()
    await client.initialize_session(
        types.InitializeParams(
            client_capabilities("visual-studio-code"),
            root_uri=root,
            workspace_folders=[types.WorkspaceFolder(root, "work")],
        )
    )
    try:
        yield Editor(client)
    finally:
        await client.shutdown_session()
        await client.stop()  # type: ignore[no-untyped-call]


def at(diagnostic: types.Diagnostic) -> tuple[int, int, int, int]:
    """Return a diagnostic's range."""
    start, end = diagnostic.range.start, diagnostic.range.end
    return start.line, start.character, end.line, end.character


def codes(diagnostics: Diagnostics) -> set[str]:
    """Return the codes of diagnostics."""
    return {str(each.code) for each in diagnostics}
