"""Folders and archives on this machine, read within limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.limits import Limits
from chartkit.network.downloads.paths import PLAIN, FileCollector, checked_name, is_left_out


def read_archive(path: Path, source: str, limits: Limits) -> bytes:
    """Return an archive's bytes; source: its name, for messages. Raises InputError."""
    try:
        if path.stat().st_size > limits.archive:
            raise InputError(f"is larger than {limits.archive:,} bytes", Location(source))
        return path.read_bytes()
    except FileNotFoundError:
        hint = "give a folder, a git checkout, or an archive by its path or URL"
        raise InputError("no such file or folder", Location(source), hint) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", Location(source)) from None


def read_folder(root: Path, limits: Limits) -> dict[str, bytes]:
    """Return a folder's files by path; raises InputError for what is too much, or no plain file."""
    collected = FileCollector(str(root), limits)
    for count, entry in enumerate(_walk(root), 1):
        name = checked_name(Path(entry.path).relative_to(root).as_posix(), str(root))
        if is_left_out(name):
            continue
        if entry.is_symlink() or not entry.is_file(follow_symlinks=False):
            what = "a link" if entry.is_symlink() else "neither a file nor a folder"
            raise InputError(f"'{name}' is {what}", Location(str(root)), PLAIN)
        collected.announce(count, entry.stat(follow_symlinks=False).st_size)
        try:
            collected.add(name, Path(entry.path).read_bytes())
        except OSError as error:
            text = f"cannot be read: {error.strerror}"
            raise InputError(text, Location(entry.path)) from None
    return collected.finish()


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        text = f"cannot be read: {error.strerror}"
        raise InputError(text, Location(str(folder))) from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if not is_left_out(entry.name):
                yield from _walk(Path(entry.path))
        else:
            yield entry
