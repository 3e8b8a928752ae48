"""Files that are written in one step."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from chartkit.errors import system_errors


def write_whole(path: Path, text: str) -> None:
    """Write a text to a file, as `write_pieces` does."""
    write_pieces(path, (text,))


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write a text to a file in one step; raise InputError if that fails. Symbolic links are
    followed and the file's mode is kept. A device or a pipe is written to directly."""
    with system_errors("cannot be written", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("w", encoding="utf-8", newline="") as file:
                file.writelines(pieces)
        else:
            from chartkit.atomic import replacing

            with replacing(path.resolve()) as file:
                text = io.TextIOWrapper(file, "utf-8", newline="")
                text.writelines(pieces)
                text.detach()


def write_over(path: Path, text: str) -> None:
    """Write an edited text to the file that it was read from, with the line ends of that file;
    raise InputError as `write_whole` does."""
    write_whole(path, with_line_ends(path, text))


def with_line_ends(path: Path, text: str) -> str:
    """Return a text with the line ends of the file that it was read from; raise InputError."""
    with system_errors("cannot be read", path), path.open(encoding="utf-8", newline="") as before:
        ends = "\r\n" if before.readline().endswith("\r\n") else "\n"
    return text.replace("\n", ends)
