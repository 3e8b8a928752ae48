"""The YAML and JSON files below the paths that the user names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from chartkit.documents.input_files import is_file, is_there, refuse_special
from chartkit.errors import InputError
from chartkit.model import Location

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
CHART_FILE = "Chart.yaml"


def is_chart(path: Path) -> bool:
    """Return whether a path is the folder of a Helm chart."""
    return is_file(path / CHART_FILE)


def walk(folder: Path) -> Iterator[Path]:
    """Yield the YAML and JSON files below a folder, sorted, with chart folders in place of their
    contents.

    Hidden files and folders are skipped. Raise InputError for a folder that cannot be read, and for
    a pipe, a socket or a device among the files.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", Location(str(folder))
        ) from None
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            if is_chart(path):
                yield path
            elif not entry.is_symlink():
                yield from walk(path)
        elif path.suffix in SUFFIXES:
            refuse_special(path)
            yield path


def existing(path: Path) -> Path:
    """Return the path; raise InputError if it does not exist."""
    if not is_there(path):
        raise InputError("no such file or folder", Location(str(path)))
    return path
