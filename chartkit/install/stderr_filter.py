"""A filter of standard error for warnings of the API server, which Go's client writes past Python.

It writes one for every object, in its own form (`I1121 20:14:39.1 2465 warnings.go:107] "Warning:
…"`). Each text is shown once; other lines pass as they are.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_LINE: Final = re.compile(r"([IWEF])\d{4} [\d:.]+ +\d+ ([\w.-]+):\d+\] (.*)")
_WARNINGS: Final = "warnings.go"
_STDERR: Final = 2


@contextmanager
def warnings_once(shown: set[str]) -> Iterator[None]:
    """Filter standard error while Go runs; shown: texts that were shown already."""
    try:
        before = os.dup(_STDERR)
    except OSError:
        # Standard error is closed: there is nothing to stand before.
        yield
        return
    reading, writing = os.pipe()
    os.dup2(writing, _STDERR)
    os.close(writing)
    thread = threading.Thread(target=_pass_on, args=(reading, before, shown), daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.dup2(before, _STDERR)
        thread.join()
        os.close(before)


def readable(line: str, shown: set[str]) -> str:
    """Return a line as it is shown, empty where it repeats another."""
    found = _LINE.fullmatch(line)
    if found is None:
        return line
    severity, file, text = found.groups()
    if file != _WARNINGS:
        return "" if severity == "I" else line
    text = text.strip('"').removeprefix("Warning: ")
    if text in shown:
        return ""
    shown.add(text)
    return f"warning of the API server: {text}"


def _pass_on(reading: int, to: int, shown: set[str]) -> None:
    with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            text = readable(line.rstrip("\n"), shown)
            if text:
                os.write(to, f"{text}\n".encode())
