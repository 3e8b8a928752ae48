"""The PolicyExceptions in files and folders of a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from chartkit.documents.reader import read_file, resources
from chartkit.engine import is_exception, read_exceptions
from chartkit.errors import CompileError, InputError
from chartkit.model import Resource
from chartkit.project.settings import NamedFile
from chartkit.scan.inputs import walk


def read_files(files: Sequence[NamedFile]) -> list[Resource]:
    """Return the exceptions of files and folders, each object once.

    Raises InputError for a path that is not there or has no exception, and for one that Kyverno
    refuses.
    """
    found: dict[tuple[str, str, str], Resource] = {}
    for each in files:
        if not each.path.exists():
            hint = "paths start at the folder of chartkit.yaml"
            raise InputError(f"there is no '{each.path}'", each.location, hint)
        here = list(exceptions_below(each.path))
        if not here:
            hint = "write PolicyExceptions of kyverno.io/v2 or policies.kyverno.io/v1"
            raise InputError(f"'{each.path}' has no PolicyException", each.location, hint)
        for resource in here:
            _require_valid(resource)
            key = (resource.api_version.partition("/")[0], resource.namespace, resource.name)
            found[key] = resource
    return list(found.values())


def exceptions_below(path: Path) -> Iterator[Resource]:
    """Yield the exceptions of a file or folder."""
    for file in sorted(walk(path)) if path.is_dir() else [path]:
        if file.is_file():
            yield from filter(is_exception, resources(read_file(file)))


def _require_valid(resource: Resource) -> None:
    try:
        read_exceptions([resource])
    except CompileError as error:
        first = error.diagnostics[0] if error.diagnostics else None
        message = first.message if first else error.message
        place = first.location if first and first.location else resource.location
        raise InputError(f"Kyverno refuses the exception: {message}", place, error.hint) from None
