"""Vendored folders: written in one step with their lock, and compared with it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Diagnostic, Explanation, Location, Severity
from chartkit.network.downloads.lockfile import LOCK_FILE, Lock, digest, lock_text, read_lock
from chartkit.network.http.urls import is_url
from chartkit.output import atomic_folder
from chartkit.output.folders import write_below

RULE_CHANGED: Final = "CK501"
_EXPLANATIONS = (
    Explanation(
        RULE_CHANGED,
        what="A vendored file that differs from its lock file.",
        why="Somebody changed a vendored file, and the next update would hide the change.",
        do="Restore it, or put the policy into a library of your own.",
    ),
)
"""A file of a vendored folder is not as the lock file has it."""


def verify(folder: Path) -> list[Diagnostic]:
    """Return where a vendored folder differs from its lock file; raises InputError for the lock."""
    locked = read_lock(folder).files
    there = dict(_files(folder))
    found: list[Diagnostic] = []
    for name in sorted({*locked, *there}):
        if name not in there:
            message = "is missing"
        elif there[name] is None:
            message = "is a link, or no file"
        elif name not in locked:
            message = "was not vendored"
        elif there[name] != locked[name]:
            message = "was changed since it was vendored"
        else:
            continue
        hint = "put it back, or remove the folder and vendor it again"
        place = Location(str(folder / name))
        found.append(Diagnostic(RULE_CHANGED, Severity.ERROR, message, place, hint))
    return found


def _files(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Yield files by path with their digests, None for what is no plain file; without the lock
    file."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            yield name, None
        elif path.is_file() and name != LOCK_FILE:
            yield name, digest(path.read_bytes())


def require_unchanged(folder: Path) -> None:
    """Raises InputError where a vendored folder is not as its lock file has it."""
    found = verify(folder)
    if found:
        first = found[0]
        more = f"; and {len(found) - 1} more of the kind" if len(found) > 1 else ""
        raise InputError(first.message, first.location, f"{first.hint}{more}")


@contextlib.contextmanager
def held(project: Path) -> Iterator[None]:
    """Hold a project's lock against other writers; raises InputError while another holds it."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(atomic_folder.lock(project))
        except InputError as error:
            what = "another chartkit writes to this project"
            raise InputError(what, error.location, error.hint) from None
        yield


def publish(folder: Path, files: Mapping[str, bytes], lock: Lock, project: Path) -> None:
    """Replace a project's folder by files with their lock, in one step; raises InputError."""
    with atomic_folder.replaced(folder, project) as new:
        write_below(new, files)
        (new / LOCK_FILE).write_text(lock_text(lock), "utf-8", newline="\n")


def from_project(source: str, project: Path) -> str:
    """Return a source as the lock file has it: paths start at the project, so that it may be
    moved."""
    if is_url(source) or Path(source).is_absolute():
        return source
    return Path(os.path.relpath(source, project)).as_posix()
