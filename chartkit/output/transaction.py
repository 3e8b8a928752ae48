"""Files that are written together: all of them or none."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from chartkit.atomic import replacing
from chartkit.errors import system_errors


def write_together(texts: Mapping[Path, str | None]) -> None:
    """Write files, and remove those without a text, all of them or none; raise InputError for the
    first for which that is not possible.

    Every text is on the disk before the first file is replaced, and an interrupt puts back what was
    replaced before it. Links are followed, and folders made.
    """
    with contextlib.ExitStack() as undo:
        with contextlib.ExitStack() as staged:
            ready = [_staged(path, text, staged) for path, text in texts.items()]
            for path, (target, replace) in zip(texts, ready, strict=True):
                with system_errors("cannot be written", path):
                    before = target.read_bytes() if target.exists() else None
                    undo.callback(_restore, target, before)
                    replace.close()
        undo.pop_all()


def _staged(
    path: Path, text: str | None, staged: contextlib.ExitStack
) -> tuple[Path, contextlib.ExitStack]:
    """Write a text next to its file; return the file, and what replaces or removes it when it is
    closed."""
    if text is None:
        remove = staged.enter_context(contextlib.ExitStack())
        remove.push(lambda error, *_: None if error else path.unlink(missing_ok=True))
        return path, remove
    with system_errors("cannot be written", path):
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        replace = staged.enter_context(contextlib.ExitStack())
        file = replace.enter_context(replacing(target))
        file.write(text.encode("utf-8"))
        file.flush()
    return target, replace


def _restore(target: Path, before: bytes | None) -> None:
    with contextlib.suppress(OSError):
        if before is None:
            target.unlink()
        elif target.read_bytes() != before:
            with replacing(target) as file:
                file.write(before)
