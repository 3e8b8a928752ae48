"""Names of files in a foreign library: only such as stay inside, on every system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

from chartkit.catalog.limits import Limits
from chartkit.catalog.lockfile import LOCK_FILE
from chartkit.errors import InputError
from chartkit.model import Location

_LONGEST: Final = 400
_LONGEST_PART: Final = 200
_DEEPEST: Final = 24


def checked_name(name: str, source: str) -> str:
    """A file's path inside a library; raises InputError for one that leads out or that not every
    system can write. source: where it was found, for the message."""
    shown = name if name.isprintable() else repr(name)
    parts = name.removeprefix("./").split("/")
    if name.startswith("/") or ".." in parts or ":" in name or "\\" in name:
        raise InputError(f"the path '{shown}' leads out of the library", Location(source))
    sound = name.isprintable() and len(name) <= _LONGEST and len(parts) <= _DEEPEST
    if not sound or any(
        part in ("", ".") or part.endswith((".", " ")) or len(part) > _LONGEST_PART
        for part in parts
    ):
        raise InputError(f"the path '{shown[:_LONGEST]}' cannot be written", Location(source))
    return "/".join(parts)


def is_left_out(name: str) -> bool:
    """Whether a file is none of the library's: what git keeps, and an older lock file."""
    parts = name.lower().split("/")
    return ".git" in parts or name == LOCK_FILE


class Collected:
    """The files of a library, counted while they are collected."""

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
        """Takes a file; raises InputError where it is too much, or there already."""
        self.announce(len(self._seen) + 1, len(content))
        if name.lower() in self._seen:
            what = f"has two files '{name}' (letters' case does not count)"
            raise InputError(what, Location(self._source))
        self._seen.add(name.lower())
        self._total += len(content)
        self.files[name] = content

    def finish(self) -> dict[str, bytes]:
        """The files; raises InputError where one is the folder of another."""
        for name in self.files:
            for parent in PurePosixPath(name.lower()).parents:
                if str(parent) in self._seen:
                    what = f"has '{parent}' both as a file and as a folder"
                    raise InputError(what, Location(self._source))
        return self.files


def without_wrapper(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files without the one folder that archives wrap around a library.

    It is kept where it is a category: where below it a folder is a policy.
    """
    tops = {name.partition("/")[0] for name in files}
    inner = {name.partition("/")[2]: content for name, content in files.items()}
    if len(tops) != 1 or "" in inner or not _has_categories(inner):
        return dict(files)
    return inner


def _has_categories(names: Iterable[str]) -> bool:
    """Whether some file stands as deep as a category's policies do."""
    return any(
        name.count("/") >= 2 and not any(part.startswith(".") for part in name.split("/"))
        for name in names
    )
