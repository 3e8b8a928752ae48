"""Files that are written together: all of them or none, also where the writer is killed.

A writer keeps what the files were before in the user's cache, where no file of a project can take
its place. The next writer takes back what a killed one wrote.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Final

from chartkit.atomic import clear, replacing
from chartkit.cache_folder import Store, digest_of
from chartkit.errors import system_errors
from chartkit.model import Json

_STORE: Final = "unfinished"
_BYTES: Final = "latin-1"
"""The encoding in which a journal has any bytes as text."""


def write_together(texts: Mapping[Path, str | None]) -> None:
    """Write files, and remove those without a text, all of them or none; raise InputError for the
    first for which that is not possible.

    Every text is on the disk before the first file is replaced, and an interrupt puts back what was
    replaced before it. Links are followed, and folders made.
    """
    with _journal(texts), contextlib.ExitStack() as undo:
        with contextlib.ExitStack() as staged:
            ready = [_staged(path, text, staged, undo) for path, text in texts.items()]
            for path, (target, replace) in zip(texts, ready, strict=True):
                with system_errors("cannot be written", path):
                    undo.callback(_restore, target, _content(target))
                    replace.close()
        undo.pop_all()


def take_back(roots: Iterable[Path]) -> list[Path]:
    """Put back the files below some paths that a killed writer replaced, if they are as it wrote
    them, and remove what it left beside them; return those that were put back."""
    tops = [root.resolve() for root in roots]
    store = Store(_STORE)
    paths: list[Path] = []
    for key in store.all_keys():
        entries = [*_entries(store.load(key))]
        if not any(target.is_relative_to(top) for target, _, _ in entries for top in tops):
            continue
        for target, before, after in entries:
            clear(target)
            if before != (now := _content(target)) and _digest(now) == after:
                _restore(target, before)
                paths.append(target)
        store.remove(key)
    return paths


@contextlib.contextmanager
def _journal(texts: Mapping[Path, str | None]) -> Iterator[None]:
    """Keep what files are before they are written, until they are written or put back; one file is
    replaced in one step and needs no journal."""
    if len(texts) < 2:
        yield
        return
    files: dict[str, Json] = {}
    for path, text in texts.items():
        target = path if text is None else path.resolve()
        with system_errors("cannot be written", path):
            before = _content(target)
        kept = None if before is None else before.decode(_BYTES)
        after = None if text is None else text.encode("utf-8")
        files[str(target.absolute())] = [kept, _digest(after)]
    store, key = Store(_STORE), digest_of(sorted(files))
    store.save(key, files)
    try:
        yield
    finally:
        store.remove(key)


def _entries(journal: Json) -> Iterator[tuple[Path, bytes | None, str | None]]:
    """Yield the files of a journal, each with its content before and the digest of that after."""
    for name, (before, after) in journal.items() if isinstance(journal, dict) else ():
        yield Path(name), None if before is None else before.encode(_BYTES), after


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _staged(
    path: Path, text: str | None, staged: contextlib.ExitStack, undo: contextlib.ExitStack
) -> tuple[Path, contextlib.ExitStack]:
    """Write a text next to its file; return the file, and what replaces or removes it when it is
    closed. undo: removes the folders that are made."""
    if text is None:
        remove = staged.enter_context(contextlib.ExitStack())
        remove.push(lambda error, *_: None if error else path.unlink(missing_ok=True))
        return path, remove
    with system_errors("cannot be written", path):
        target = path.resolve()
        above = (target.parent, *target.parent.parents)
        missing = [*takewhile(lambda folder: not folder.exists(), above)]
        for folder in reversed(missing):
            undo.callback(_remove_empty, folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        replace = staged.enter_context(contextlib.ExitStack())
        file = replace.enter_context(replacing(target))
        file.write(text.encode("utf-8"))
        file.flush()
    return target, replace


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _restore(target: Path, before: bytes | None) -> None:
    with contextlib.suppress(OSError):
        if before is None:
            target.unlink()
        elif _content(target) != before:
            with replacing(target) as file:
                file.write(before)
