"""Files below a folder, by paths that other files may name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath

from chartkit.errors import InputError
from chartkit.model import Location


def leads_out(name: str) -> bool:
    """Report whether a path leads out of the folder that it starts at."""
    path = PurePath(name)
    return bool(path.anchor) or ".." in path.parts


def path_below(folder: Path, name: str) -> Path:
    """Return the path of a file below a folder; raise InputError for one that leads out of it."""
    if leads_out(name):
        raise InputError(f"the path '{name}' leads out of its folder", Location(str(folder)))
    return folder / name


def write_below(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their paths below a folder, with line feeds as line ends; raise InputError for
    a path that leads out of it, and OSError."""
    for name, content in files.items():
        file = path_below(folder, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
