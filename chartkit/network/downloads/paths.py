"""Names of foreign files: only such as stay inside their folder, on every system."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from chartkit.errors import InputError
from chartkit.model import Location
from chartkit.network.downloads.limits import Limits
from chartkit.network.downloads.lockfile import LOCK_FILE

PLAIN: Final = "plain files alone are taken"
"""The way out where there is a link or a device."""
_LONGEST: Final = 400
_LONGEST_PART: Final = 200
_DEEPEST: Final = 24


def checked_name(name: str, source: str) -> str:
    """Return a file's path inside its folder; raises InputError for one that leads out or that not
    every system can write. source: where it was found, for the message."""
    shown = name if name.isprintable() else repr(name)
    parts = name.removeprefix("./").split("/")
    if name.startswith("/") or ".." in parts or ":" in name or "\\" in name:
        raise InputError(f"the path '{shown}' leads out of its folder", Location(source))
    sound = name.isprintable() and len(name) <= _LONGEST and len(parts) <= _DEEPEST
    if not sound or any(
        part in ("", ".") or part.endswith((".", " ")) or len(part) > _LONGEST_PART
        for part in parts
    ):
        raise InputError(f"the path '{shown[:_LONGEST]}' cannot be written", Location(source))
    return "/".join(parts)


def is_left_out(name: str) -> bool:
    """Tell whether a file is left out: one that git keeps, or an older lock file."""
    parts = name.lower().split("/")
    return ".git" in parts or name == LOCK_FILE


class FileCollector:
    """The files of a folder or archive, counted while they are collected."""

    def __init__(self, source: str, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._total = 0
        self._seen: set[str] = set()
        self.files: dict[str, bytes] = {}

    def announce(self, count: int, size: int) -> None:
        """Raises InputError where so many files, or one of such a size, are too much."""
        limits, place = self._limits, Location(self._source)
        if count > limits.files:
            raise InputError(f"has more than {limits.files:,} files", place)
        if size > limits.file:
            raise InputError(f"has a file of more than {limits.file:,} bytes", place)
        if self._total + size > limits.total:
            raise InputError(f"is larger than {limits.total:,} bytes when unpacked", place)

    def add(self, name: str, content: bytes) -> None:
        """Add a file; raises InputError for too much, or a path that exists."""
        self.announce(len(self._seen) + 1, len(content))
        if name.lower() in self._seen:
            what = f"has two files '{name}' (letters' case does not count)"
            raise InputError(what, Location(self._source))
        self._seen.add(name.lower())
        self._total += len(content)
        self.files[name] = content

    def finish(self) -> dict[str, bytes]:
        """Return the files; raises InputError where one is the folder of another."""
        for name in self.files:
            for parent in PurePosixPath(name.lower()).parents:
                if str(parent) in self._seen:
                    what = f"has '{parent}' both as a file and as a folder"
                    raise InputError(what, Location(self._source))
        return self.files
