"""Paths that a command leaves out, by patterns in the syntax of gitignore."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.documents.checkout import checkout_top
from chartkit.documents.reader import read_file
from chartkit.errors import ChartkitError, InputError
from chartkit.model import mapping_at, texts_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_PROJECT: Final = "chartkit.yaml"


class Exclusion:
    """Patterns, each with the folder that they are relative to."""

    def __init__(self, patterns: Iterable[tuple[str, Sequence[str]]] = ()) -> None:
        """Raise InputError for what is not a pattern."""
        self._specs = [(root, _spec(each)) for root, each in patterns if each]

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

    Raise InputError for what is not a pattern.
    """
    whole = Path(os.path.abspath(path))
    found = [(_start(folder), patterns) for folder in dict.fromkeys((whole, Path.cwd()))]
    top = checkout_top(whole)
    above = (file for file in (whole, *whole.parents) if top is None or file.is_relative_to(top))
    project = next((file for file in above if (file / _PROJECT).is_file()), None)
    if project is not None:
        found.append((_start(project), project_patterns(project / _PROJECT)))
    return Exclusion(found)


def _start(folder: Path) -> str:
    return os.path.join(folder, "")


def project_patterns(file: Path) -> list[str]:
    """Return the patterns in a project file; none where it cannot be read: `render` says why."""
    try:
        documents = read_file(file)
    except ChartkitError:
        return []
    return [text for each in documents for text in texts_of(mapping_at(each.body).get("exclude"))]


def _spec(patterns: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        hint = "patterns are written as in .gitignore: vendor/, *.tpl.yaml, /docs/**"
        raise InputError(f"--exclude: {error}", hint=hint) from None
