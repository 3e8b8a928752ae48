"""Folders of what was vendored: the lock file, with the origin and digest of every file, the paths
and sizes that are taken, and the folder replaced in one step."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Final

from chartkit.documents.json_text import parse_json
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Json, Location, Severity
from chartkit.network.http import limits as net
from chartkit.output import atomic_folder
from chartkit.output.atomic_folder import write_below

LOCK_FILE: Final = "chartkit.lock"
VENDOR: Final = "vendor"
"""The folder of vendored libraries, below the project's."""
CHARTS: Final = "charts"
"""The folder of vendored charts, below that."""
_VERSION: Final = 1
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
RULE_CHANGED: Final = "CK501"
"""A file of a vendored folder is not as the lock file has it."""
PLAIN: Final = "plain files alone are taken"
"""The way out where there is a link or a device."""
_LONGEST: Final = 400
_LONGEST_PART: Final = 200
_DEEPEST: Final = 24


class SourceKind(StrEnum):
    """The kind of a source: a folder, an archive, a git checkout, or a Helm repository's chart."""

    FOLDER = "folder"
    ARCHIVE = "archive"
    GIT = "git"
    REPOSITORY = "repository"


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a vendored folder. location: a URL, or a path (one that is not absolute starts
    at the project's folder); ref: what was asked for, a revision of a git checkout or a version of
    a chart, empty where nothing was; revision: what that was: a commit, of an archive its SHA-256,
    of a folder the SHA-256 of its files' digests."""

    kind: SourceKind
    location: str
    ref: str
    revision: str

    @property
    def shown(self) -> str:
        """The location for people: of a URL without its query."""
        # A checkout has a lock file's name, and no need of what speaks HTTP.
        from chartkit.network.http.urls import shown_source

        return shown_source(self.location)


@dataclass(frozen=True, slots=True)
class Lock:
    """origin, and the SHA-256 of every file by its path in the folder."""

    origin: Origin
    files: Mapping[str, str]


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def digest_of_all(files: Mapping[str, str]) -> str:
    """Return one SHA-256 for the digests of many files."""
    return digest("".join(f"{files[name]}  {name}\n" for name in sorted(files)).encode())


def lock_text(lock: Lock) -> str:
    """Return the lock file's text."""
    origin = lock.origin
    source = {"kind": str(origin.kind), "location": origin.location}
    if origin.ref:
        source["ref"] = origin.ref
    body = {
        "version": _VERSION,
        "source": source | {"revision": origin.revision},
        "files": {name: f"sha256:{lock.files[name]}" for name in sorted(lock.files)},
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def read_lock(root: Path) -> Lock:
    """Return the lock of a vendored folder; raises InputError where it is missing or damaged."""
    file = root / LOCK_FILE
    try:
        body = parse_json(file.read_bytes())
    except FileNotFoundError:
        what = f"is not vendored: it has no {LOCK_FILE}"
        raise InputError(what, Location(str(root))) from None
    except (OSError, ValueError, RecursionError):
        raise _damaged(file) from None
    try:
        source, files = body["source"], body["files"]
        kind = SourceKind(source["kind"])
        texts = [source["location"], source.get("ref", ""), source["revision"]]
        if body["version"] != _VERSION or not all(isinstance(text, str) for text in texts):
            raise _damaged(file)
        return Lock(Origin(kind, *texts), {_path(name): _sha(of) for name, of in files.items()})
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _damaged(file) from None


def _path(name: str) -> str:
    parts = name.split("/")
    if "\\" in name or any(part in ("", ".", "..") for part in parts):
        raise ValueError("no path inside")
    return name


def _sha(text: Json) -> str:
    algorithm, _, value = text.partition(":")
    if algorithm != "sha256" or not _DIGEST.fullmatch(value):
        raise ValueError("no digest")
    return str(value)


def _damaged(file: Path) -> InputError:
    hint = "remove the folder, and vendor it again"
    return InputError("is not a lock file of chartkit", Location(str(file)), hint)


def verify(folder: Path) -> list[Diagnostic]:
    """The differences of a vendored folder from its lock file; raises InputError for the lock."""
    locked = read_lock(folder).files
    files: list[tuple[str, str | None]] = []
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            files.append((name, None))
        elif path.is_file() and name != LOCK_FILE:
            files.append((name, digest(path.read_bytes())))
    there = dict(files)
    diagnostics: list[Diagnostic] = []
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
        location = Location(str(folder / name))
        diagnostics.append(Diagnostic(RULE_CHANGED, Severity.ERROR, message, location, hint))
    return diagnostics


def require_unchanged(folder: Path) -> None:
    """Raises InputError where a vendored folder is not as its lock file has it."""
    diagnostics = verify(folder)
    if diagnostics:
        first = diagnostics[0]
        more = f"; and {len(diagnostics) - 1} more of the kind" if len(diagnostics) > 1 else ""
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
    """A source as the lock file has it: paths start at the project, so that it may be moved."""
    from chartkit.network.http.urls import is_url

    if is_url(source) or Path(source).is_absolute():
        return source
    return Path(os.path.relpath(source, project)).as_posix()


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
    """Report whether a file is left out: one that git keeps, or an older lock file."""
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
        limits, location = self._limits, Location(self._source)
        if count > limits.files:
            raise InputError(f"has more than {limits.files:,} files", location)
        if size > limits.file:
            raise InputError(f"has a file of more than {limits.file:,} bytes", location)
        if self._total + size > limits.total:
            raise InputError(f"is larger than {limits.total:,} bytes when unpacked", location)

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


@dataclass(frozen=True, slots=True)
class Limits(net.Limits):
    """Limits of a download, in addition to those of a request. archive: bytes of an archive; files,
    file, total: how many files, bytes of one and of all; ratio: how many times its own size an
    archive may unpack to, where that is more than ratio_from bytes."""

    silence: float = 20.0
    patience: float = 300.0

    archive: int = 64_000_000
    files: int = 20_000
    file: int = 16_000_000
    total: int = 128_000_000
    ratio: int = 100
    ratio_from: int = 8_000_000


DEFAULT: Final = Limits()
"""The public Kyverno library has some 6,000 files and 11 MB; a chart of Kyverno 100 and 5 MB."""


def waiting(seconds: float | None) -> Limits:
    """Return the limits with other seconds for a server that says nothing; None: the usual ones."""
    if seconds is None:
        return DEFAULT
    patience = seconds * DEFAULT.patience / DEFAULT.silence
    return replace(DEFAULT, connect=seconds, silence=seconds, patience=patience)
