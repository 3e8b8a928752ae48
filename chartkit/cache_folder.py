"""The folder for caches between runs, and JSON values in it, by keys that cover all they depend on.

Data read from a cache is the user's own: files are private, replaced in one step and bounded in
size, and a folder that others may write to is not used. Nothing of it is ever run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import chartkit
from chartkit.atomic import replacing
from chartkit.bundled import profiles_dir
from chartkit.model import Json

FACTS: Final = "facts"
"""The store of facts that are newer than the program's."""
_PRIVATE: Final = 0o600
_OWN: Final = 0o700
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_METADATA: Final = (".dist-info", ".egg-info")
_LARGEST: Final = 32 << 20
"""The size of a value's file in bytes, beyond which it is neither written nor read."""
_ROOM: Final = 128 << 20
"""The size of all files of one store, beyond which the oldest ones are removed."""


def cache_folder() -> Path:
    """Return the folder for caches: CHARTKIT_CACHE, or the system's."""
    given = os.environ.get("CHARTKIT_CACHE")
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    else:
        base = os.environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "chartkit"
    default = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return Path(os.path.expanduser("~")) / default / "chartkit"


@cache
def program_digest() -> str:
    """Return a digest of the program with the policies, profiles and facts that it uses."""
    folders = filter(Path.is_dir, (profiles_dir(), cache_folder() / FACTS))
    return digest_of(code_digest(), *map(_folder_digest, folders))


@cache
def code_digest() -> str:
    """Return a digest of the code: its version, Python's, those of all packages, and the size and
    time of each of its files, so that a changed copy of the same version is another program."""
    own = _folder_digest(Path(chartkit.__file__).parent)
    digest = hashlib.sha256(f"{chartkit.__version__}\n{sys.version}\n{own}\n".encode())
    for name, changed in _packages():
        digest.update(f"{name}\0{changed}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _folder_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for name, status in sorted(_files(str(folder))):
        digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _packages() -> Iterator[tuple[str, int]]:
    """The names of installed packages' metadata, with versions, and their times."""
    for folder in dict.fromkeys(sys.path):
        with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
            named = (entry for entry in entries if entry.name.endswith(_METADATA))
            yield from sorted((entry.name, entry.stat().st_mtime_ns) for entry in named)


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            else:
                yield entry.path, entry.stat()


def digest_of(*parts: Json) -> str:
    """Return the digest of JSON values."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class Store:
    """JSON values of one kind; keys are digests. What cannot be read or written is not there."""

    def __init__(self, name: str) -> None:
        self.folder = cache_folder() / name

    def load(self, key: str) -> Json | None:
        """Return the value of a key, None without a usable one."""
        try:
            if not self._is_own():
                return None
            handle = os.open(self._file(key), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(handle, "rb") as file:
                text = file.read(_LARGEST + 1)
            body = json.loads(text) if len(text) <= _LARGEST else None
        except (OSError, ValueError, RecursionError):
            return None
        return body["value"] if isinstance(body, dict) and body.get("key") == key else None

    def save(self, key: str, value: Json) -> None:
        """Keep a value under a key."""
        text = json.dumps({"key": key, "value": value}, ensure_ascii=True).encode("ascii")
        if len(text) > _LARGEST:
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=_OWN, parents=True, exist_ok=True)
            if self._is_own():
                with replacing(self._file(key), _PRIVATE) as out:
                    out.write(text)
                # Remove the oldest files beyond the store's room.
                with os.scandir(self.folder) as entries:
                    files = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
                files.sort(key=lambda file: file[0].st_mtime_ns, reverse=True)
                room = _ROOM
                for status, path in files:
                    room -= status.st_size
                    if room < 0:
                        with contextlib.suppress(OSError):
                            os.unlink(path)

    def all_keys(self) -> list[str]:
        """Return the keys that there may be values of."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def remove(self, key: str) -> None:
        """Keep the value of a key no longer."""
        with contextlib.suppress(OSError):
            self._file(key).unlink()

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _is_own(self) -> bool:
        """Report whether only the user may write to the folder."""
        if sys.platform == "win32":
            return True
        status = os.lstat(self.folder)
        is_folder = stat.S_ISDIR(status.st_mode)
        return is_folder and status.st_uid == os.geteuid() and not status.st_mode & _OTHERS
