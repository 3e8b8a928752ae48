"""The lock file of what was vendored: where it came from, and the digest of every file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from chartkit.documents.json_text import parse_json
from chartkit.errors import InputError
from chartkit.model import Json, Location

LOCK_FILE: Final = "chartkit.lock"
VENDOR: Final = "vendor"
"""The folder of vendored libraries, below the project's."""
CHARTS: Final = "charts"
"""The folder of vendored charts, below that."""
_VERSION: Final = 1
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class SourceKind(StrEnum):
    """The kind of a source: a folder, an archive, a git checkout, or a chart of a Helm
    repository."""

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
    """Return the lock of a vendored folder; raises InputError where there is none, or it is
    damaged."""
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
    algorithm, _, found = text.partition(":")
    if algorithm != "sha256" or not _DIGEST.fullmatch(found):
        raise ValueError("no digest")
    return str(found)


def _damaged(file: Path) -> InputError:
    hint = "remove the folder, and vendor it again"
    return InputError("is not a lock file of chartkit", Location(str(file)), hint)
