"""Paths that are URLs: fetched into a folder of this process, and named by their URLs in
messages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.errors import ChartkitError, CompileError
from chartkit.model import Diagnostic, Location, Places, Resource, Severity
from chartkit.network.downloads.remote import download_object, fetch, is_remote, read_remote
from chartkit.network.http.connections import read_hosts
from chartkit.output.atomic_folder import write_below
from chartkit.scan.inputs import is_stored
from chartkit.temporary import TemporaryFolder

RULE: Final = "remote"
Note = Callable[[Diagnostic], None]


@dataclass(slots=True)
class RemotePaths:
    """The paths of one run that are URLs. hosts: those that `--allow-network` names; note: called
    for each that is not pinned."""

    hosts: Sequence[str]
    note: Note
    _names: dict[str, str] = field(default_factory=dict)
    _folders: list[TemporaryFolder] = field(default_factory=list)

    def local(self, paths: Sequence[str]) -> list[str]:
        """Return paths with what URLs hold in the place of these; raise InputError."""
        return [self._fetched(path) if is_remote(path) else path for path in paths]

    def _fetched(self, text: str) -> str:
        if is_stored(text):
            folder = TemporaryFolder()
            self._folders.append(folder)
            path = str(download_object(text, folder.path))
            self._names[path] = text
            self._names[f"{folder.path}{os.sep}"] = f"{text.rstrip('/')}/"
            return path
        fetched = fetch(read_remote(text), read_hosts(self.hosts))
        if not fetched.source.is_pinned:
            is_git, revision = fetched.source.is_git, fetched.revision
            hint = f"{'?ref=' if is_git else '#sha256='}{revision} pins what came now"
            message = "is not pinned: it may be another the next time"
            location = Location(fetched.source.shown)
            self.note(Diagnostic(RULE, Severity.NOTE, message, location, hint))
        folder = TemporaryFolder()
        self._folders.append(folder)
        write_below(folder.path, fetched.files)
        path = str(folder.path / fetched.path) if fetched.path else str(folder.path)
        is_one = len(fetched.files) == 1 and fetched.path in fetched.files
        if is_one and not fetched.source.path:
            self._names[path] = fetched.source.shown
        self._names[f"{folder.path}{os.sep}"] = f"{fetched.source.shown}//"
        self._names.setdefault(str(folder.path), fetched.source.shown)
        return path

    def name(self, file: str) -> str:
        """Return the name of a file in messages."""
        for start, name in self._names.items():
            if file == start or (file.startswith(start) and start.endswith(os.sep)):
                return name + file[len(start) :].replace(os.sep, "/")
        return file

    def text(self, text: str) -> str:
        """Return a text with the names of messages for the files in it."""
        for start, name in self._names.items():
            text = text.replace(start, name)
        return text

    def location(self, location: Location) -> Location:
        """Return a location with the name that its file has in messages."""
        name = self.name(location.file)
        if name == location.file:
            return location
        places = None if location.places is None else RemotePlaces(location.places, self)
        return replace(location, file=name, places=places)

    def resource(self, resource: Resource) -> Resource:
        """Return an object with its location, as messages name it."""
        location = self.location(resource.location)
        if location is resource.location:
            return resource
        return Resource(resource.body, location)

    def diagnostic(self, row: Diagnostic) -> Diagnostic:
        """Return a diagnostic with its location, as messages name it."""
        if row.location is None:
            return row
        return replace(row, location=self.location(row.location))

    @contextmanager
    def naming(self) -> Iterator[Note]:
        """Give a function that takes notes; errors and notes get the names of messages."""

        def note(row: Diagnostic) -> None:
            self.note(self.diagnostic(row))

        try:
            yield note
        except CompileError as error:
            raise CompileError([self.diagnostic(fault) for fault in error.diagnostics]) from None
        except ChartkitError as error:
            if error.location is not None:
                error.location = self.location(error.location)
            raise


@dataclass(frozen=True, slots=True)
class RemotePlaces(Places):
    """The places of a document that was fetched."""

    inner: Places
    paths: RemotePaths

    def locate(self, *path: str | int) -> Location:
        return self.paths.location(self.inner.locate(*path))

    def character(self, offset: int, *path: str | int) -> Location:
        return self.paths.location(self.inner.character(offset, *path))

    def value_of(self, *path: str | int) -> Location | None:
        location = self.inner.value_of(*path)
        return None if location is None else self.paths.location(location)

    def excerpt(self, line: int) -> tuple[int, Sequence[str]]:
        return self.inner.excerpt(line)
