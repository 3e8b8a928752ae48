"""The PolicyExceptions in files and folders of a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chartkit.documents.reader import read_file, resources
from chartkit.documents.unread import UNREADABLE, require_read
from chartkit.engine import is_exception, read_exceptions
from chartkit.engine.policies import EXCEPTION
from chartkit.errors import CompileError, InputError
from chartkit.model import Diagnostic, Resource
from chartkit.scan.inputs import Note, unread_file, walk

if TYPE_CHECKING:
    from chartkit.project.settings import NamedFile


def read_files(files: Sequence[NamedFile], note: Note | None = None) -> list[Resource]:
    """Return the exceptions of files and folders, each object once; note: called with a row for
    each file of a folder that cannot be read, without it raise InputError.

    Raise InputError for a path that is not there or has no exception, and for an exception that
    Kyverno refuses.
    """
    found: dict[tuple[str, str, str], Resource] = {}
    for file in files:
        if not file.path.exists():
            hint = "paths start at the folder of chartkit.yaml"
            raise InputError(f"there is no '{file.path}'", file.location, hint)
        here = exceptions_at(file.path, note)
        if not here:
            hint = "write PolicyExceptions of kyverno.io/v2 or policies.kyverno.io/v1"
            raise InputError(f"'{file.path}' has no PolicyException", file.location, hint)
        for resource in here:
            try:
                read_exceptions([resource])
            except CompileError as error:
                first = error.diagnostics[0] if error.diagnostics else None
                message = first.message if first else error.message
                place = first.location if first and first.location else resource.location
                raise InputError(
                    f"Kyverno refuses the exception: {message}", place, error.hint
                ) from None
            key = (resource.api_version.partition("/")[0], resource.namespace, resource.name)
            found[key] = resource
    return list(found.values())


def exceptions_at(path: Path, note: Note | None) -> list[Resource]:
    """Return the exceptions of a file or folder; note: called with a row for each file of a folder
    that cannot be read. Without it, and where there is no exception, raise InputError for one."""
    if not path.is_dir():
        return list(_exceptions(path))
    rows: list[Diagnostic] = []
    found: list[Resource] = []
    for file in filter(Path.is_file, walk(path, rows.append)):
        try:
            found += _exceptions(file)
        except UNREADABLE as error:
            rows.append(unread_file(file, error))
    if note is None or not found:
        require_read(rows)
    else:
        for row in rows:
            note(row)
    return found


def _exceptions(file: Path) -> Iterator[Resource]:
    for document in read_file(file):
        body = document.body
        if isinstance(body, dict) and body.get("kind") in (EXCEPTION, "List"):
            yield from filter(is_exception, resources([document]))
