"""Inputs that are left out: rows about those that cannot be read, without which everything else is
judged, and paths that a command leaves out, by patterns in the syntax of gitignore."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.documents.input_files import LFS_POINTER, checkout_top
from chartkit.documents.reader import read_file
from chartkit.errors import ChartkitError, InputError, RenderError
from chartkit.model import Diagnostic, Location, Severity, mapping_at, texts_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


UNREAD: Final = "unread"
"""The id of the rows."""
EXIT_CODE: Final = 2
"""The exit code of a command that has such a row, whatever else it finds."""
UNREADABLE: Final = (InputError, RenderError, OSError)
"""The errors of inputs that cannot be read."""
_WORDS: Final = (b"apiVersion", b"kind")
_PROJECT: Final = "chartkit.yaml"


def unread(error: ChartkitError) -> Diagnostic:
    """Return the row about an unreadable file, folder or chart: place, reason and way out."""
    return Diagnostic(UNREAD, Severity.ERROR, error.message, error.location, error.hint)


def unread_at(location: Location, error: Exception) -> Diagnostic:
    """Return the row about what cannot be read at a place, for one of the errors in `UNREADABLE`;
    the place counts where the error names none."""
    if isinstance(error, ChartkitError):
        return replace(unread(error), location=error.location or location)
    reason = getattr(error, "strerror", None) or error
    return Diagnostic(UNREAD, Severity.ERROR, f"cannot be read: {reason}", location)


def holds_no_object(content: bytes) -> bool:
    """Report whether the content of a file cannot hold a Kubernetes object: it lacks the text
    `apiVersion` or `kind`, and is no pointer of Git LFS."""
    if content.startswith(LFS_POINTER):
        return False
    text = content.replace(b"\x00", b"")  # UTF-16 has a zero byte for each of these letters.
    return not all(word in text for word in _WORDS)


def require_read(rows: Iterable[Diagnostic]) -> None:
    """Raise InputError for the first row about an input that cannot be read."""
    for row in filter(is_unread, rows):
        raise InputError(row.message, row.location, row.hint)


def strict(note: Callable[[Diagnostic], None]) -> Callable[[Diagnostic], None]:
    """Return a function that takes notes, and raises InputError for an input that cannot be read:
    for commands that need all of their inputs."""

    def take(row: Diagnostic) -> None:
        require_read((row,))
        note(row)

    return take


def is_unread(row: Diagnostic) -> bool:
    """Report whether a row is about an input that could not be read."""
    return row.rule_id == UNREAD


def any_unread(rows: Iterable[Diagnostic]) -> bool:
    """Report whether some input could not be read."""
    return any(map(is_unread, rows))


class Exclusion:
    """Patterns, each with the folder that they are relative to."""

    def __init__(self, patterns: Iterable[tuple[str, Sequence[str]]] = ()) -> None:
        """Raise InputError for what is not a pattern."""
        self._specs = [(root, _spec(lines)) for root, lines in patterns if lines]

    def __call__(self, path: Path, is_folder: bool = False) -> bool:
        """Report whether a path is left out."""
        if not self._specs:
            return False
        whole = os.path.abspath(path)
        for root, spec in self._specs:
            if whole.startswith(root):
                name = whole[len(root) :].replace(os.sep, "/") + ("/" if is_folder else "")
                if name.strip("/") and spec.match_file(name):
                    return True
        return False


def exclusion(path: Path, patterns: Sequence[str] = ()) -> Exclusion:
    """Return what is left out below a path: patterns of the command line, relative to the path or
    to the current folder, and those in `exclude` of the nearest chartkit.yaml, relative to it.
    Raise InputError for what is not a pattern."""
    whole = Path(os.path.abspath(path))
    rooted = [(_start(folder), patterns) for folder in dict.fromkeys((whole, Path.cwd()))]
    top = checkout_top(whole)
    above = (file for file in (whole, *whole.parents) if top is None or file.is_relative_to(top))
    project = next((file for file in above if (file / _PROJECT).is_file()), None)
    if project is not None:
        rooted.append((_start(project), project_patterns(project / _PROJECT)))
    return Exclusion(rooted)


def _start(folder: Path) -> str:
    return os.path.join(folder, "")


def project_patterns(file: Path) -> list[str]:
    """Return the patterns in a project file; none where it cannot be read: `render` says why."""
    try:
        documents = read_file(file)
    except ChartkitError:
        return []
    return [text for item in documents for text in texts_of(mapping_at(item.body).get("exclude"))]


def _spec(patterns: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        hint = "patterns are written as in .gitignore: vendor/, *.tpl.yaml, /docs/**"
        raise InputError(f"--exclude: {error}", hint=hint) from None
