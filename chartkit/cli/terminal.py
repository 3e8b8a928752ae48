"""Guarded standard output and standard error."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final, TextIO, cast

from chartkit.safe_text import escape_controls

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is; None if it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wants_colour() -> bool:
    """Return whether to use colours on standard output (https://no-color.org)."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not is_plain


class _Guarded:
    """A text stream that escapes control characters of user input. Our own colours pass if a
    terminal shows them. Characters that the terminal's encoding lacks are escaped as well."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream
        self._colours = stream.isatty()

    def write(self, text: str) -> int:
        self.unguarded.write(self._plain(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def _plain(self, text: str) -> str:
        if not self._colours or "\x1b" not in text:
            return escape_controls(text)
        parts = _COLOUR.split(text)
        codes = [*_COLOUR.findall(text), ""]
        return "".join(
            escape_controls(part) + code for part, code in zip(parts, codes, strict=True)
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Guard standard output and standard error while a command runs."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = (cast(TextIO, _Guarded(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def unguarded(stream: TextIO) -> TextIO:
    """Return the unguarded stream, for a progress bar that moves the cursor."""
    found: TextIO = getattr(stream, "unguarded", stream)
    return found


def open_closed() -> None:
    """Replace streams that the caller has closed (`>&-`) with the null device."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the end
