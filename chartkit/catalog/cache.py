"""The index's cache between runs, so that a search need not read every policy again.

One file a library stands in the user's cache folder, never with the library, which others write.
What it says of a folder counts only while every file there has the size and times that it had, and
only where it has the shape that this version writes: everything else is read anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from chartkit import __version__
from chartkit.cache_folder import cache_folder
from chartkit.catalog.model import Entry
from chartkit.model import Body, Json

_FORMAT: Final = 1
_PRIVATE: Final = 0o600
RECENT: Final = 100_000_000
"""Nanoseconds: a file changed so shortly before it was read may change again unseen."""

Stamp = tuple[int, int, int]
"""A file's size, and when its content and its entry were changed, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One folder as it was read.

    stamps, digests: of its files by name, the digests SHA-256; entries: relative to the library;
    problems: why files could not be read, each with its place.
    """

    stamps: Mapping[str, Stamp]
    digests: Mapping[str, str]
    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()


def load(root: Path) -> dict[str, Unit]:
    """Return the cached part of a library by folder; empty where nothing usable is cached."""
    try:
        body = json.loads(_file(root).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(body, dict) or body.get("about") != _about(root):
        return {}
    try:
        return {str(name): _unit(unit) for name, unit in body["units"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}


def save(root: Path, units: Mapping[str, Unit], read_at: int) -> None:
    """Remembers a library; where that cannot be done, the next run reads it again.

    read_at: when reading began, in nanoseconds.
    """
    from chartkit.atomic import replacing  # costs a search that has nothing to save

    old = read_at - RECENT
    settled = {
        name: asdict(unit)
        for name, unit in units.items()
        if all(max(stamp[1:]) < old for stamp in unit.stamps.values())
    }
    text = json.dumps({"about": _about(root), "units": settled}, ensure_ascii=False)
    file = _file(root)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file, _PRIVATE) as out:
            out.write(text.encode("utf-8"))


def _file(root: Path) -> Path:
    return cache_folder() / "catalog" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:24]}.json"


def _about(root: Path) -> Body:
    return {"format": _FORMAT, "version": __version__, "root": str(root)}


def _unit(body: Json) -> Unit:
    """Raises KeyError, TypeError or ValueError for what is none."""
    return Unit(
        {str(name): _stamp(*stamp) for name, stamp in body["stamps"].items()},
        {str(name): str(digest) for name, digest in body["digests"].items()},
        tuple(_entry(entry) for entry in body["entries"]),
        tuple(str(problem) for problem in body["problems"]),
    )


def _stamp(size: Json, changed: Json, entered: Json) -> Stamp:
    return int(size), int(changed), int(entered)


_FIELDS: Final = frozenset(field.name for field in fields(Entry))
_LISTS: Final = frozenset({"subjects", "kinds", "forms"})


def _entry(body: Json) -> Entry:
    if body.keys() != _FIELDS:
        raise ValueError("no entry")
    texts = {key: value for key, value in body.items() if key not in ("line", "own", *_LISTS)}
    lists = {key: tuple(body[key]) for key in _LISTS}
    every = [*texts.values(), *(text for each in lists.values() for text in each)]
    if not all(isinstance(text, str) for text in every) or not isinstance(body["line"], int):
        raise TypeError("no entry")
    known: dict[str, Any] = {**texts, **lists, "line": body["line"], "own": body["own"] is True}
    return Entry(**known)
