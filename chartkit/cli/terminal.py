"""Guarded standard output and standard error."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar, cast

import click

from chartkit.safe_text import escape_controls

if TYPE_CHECKING:
    from pathlib import Path

    from chartkit.model import Track
    from chartkit.report.text.layout import Screen

T = TypeVar("T")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


_SECOND: Final = 1.0
_OFTEN: Final = 0.1
_PIECE: Final = 2048
"""The characters that are written at a time, which are at most the 8,192 bytes of Python's buffer:
of a longer write that a signal interrupts, the end is lost (CPython 3.11)."""


def screen() -> Screen:
    """Return the screen of standard output."""
    from chartkit.report.text.layout import Screen

    return Screen(wants_colour(), _width(sys.stdout))


def _width(stream: TextIO) -> int | None:
    """Return the columns of a terminal; None for any other stream."""
    if not stream.isatty():
        return None
    import shutil  # It loads the libraries of archives.

    return shutil.get_terminal_size().columns


def wants_colour() -> bool:
    """Report whether to use colours on standard output (https://no-color.org)."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not is_plain


class _Guarded:
    """A text stream that escapes control characters of user input. Our own colours pass if a
    terminal shows them. Characters that the terminal's encoding lacks are escaped as well."""

    def __init__(self, stream: TextIO, width: int | None = None) -> None:
        """width: the columns to fold lines at, None for no folding."""
        self.unguarded = stream
        self._colours = stream.isatty()
        self._width = width

    def write(self, text: str) -> int:
        if self._width is None or len(text) <= self._width:
            folded = text
        else:
            from chartkit.report.text.layout import fold

            folded = fold(text, self._width)
        if not self._colours or "\x1b" not in folded:
            escaped = escape_controls(folded)
        else:
            parts = _COLOUR.split(folded)
            codes = [*_COLOUR.findall(folded), ""]
            escaped = "".join(
                escape_controls(part) + code for part, code in zip(parts, codes, strict=True)
            )
        for start in range(0, len(escaped), _PIECE):
            self.unguarded.write(escaped[start : start + _PIECE])
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Guard standard output and standard error while a command runs; lines of messages to a
    terminal are folded at its width."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    stdout, stderr = before
    sys.stdout = cast(TextIO, _Guarded(stdout))
    sys.stderr = cast(TextIO, _Guarded(stderr, _width(stderr)))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def show_text(text: str) -> None:
    """Write prose to standard output, folded at the width of a terminal."""
    from chartkit.report.text.layout import fold

    click.echo(fold(text, _width(sys.stdout)), nl=False)


def show_rows(rows: Sequence[Sequence[str]]) -> None:
    """Write rows without headings to standard output, in columns that fit a terminal."""
    from chartkit.report.text.layout import table

    click.echo("\n".join(table(rows, _width(sys.stdout))))


def unfolded(stream: TextIO) -> TextIO:
    """Return a guarded stream that folds no lines, for data."""
    guard: object = stream
    return cast(TextIO, _Guarded(guard.unguarded)) if isinstance(guard, _Guarded) else stream


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Give a function to call after each of so many steps, which shows a bar on standard error
    once the work takes more than a second, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    stderr: TextIO = getattr(sys.stderr, "unguarded", sys.stderr)
    bar = click.progressbar(length=total, label=label, file=stderr)
    steps, due = 0, time.monotonic() + _SECOND
    with contextlib.ExitStack() as shown:

        def step() -> None:
            nonlocal steps, due
            steps += 1
            if (now := time.monotonic()) < due:
                return
            if not bar.pos:
                shown.enter_context(bar)
            bar.update(steps - bar.pos)
            due = now + _OFTEN

        yield step
        if bar.pos:
            bar.update(steps - bar.pos)


def track(label: str) -> Track:
    """Return a function that gives items one by one and shows progress as `progress` does."""

    def items(sequence: Sequence[T], /) -> Iterator[T]:
        with progress(label, len(sequence)) as step:
            for item in sequence:
                yield item
                step()

    return items


def take_back(*roots: Path) -> None:
    """Take back what a killed command left half written below some paths, and say so."""
    from chartkit.output import atomic_folder
    from chartkit.wording import counted

    if paths := atomic_folder.take_back(roots):
        files = counted(len(paths), "file")
        click.echo(f"{files} that an interrupted run had written: put back as before it", err=True)


def open_closed() -> None:
    """Replace streams that the caller has closed (`>&-`) with the null device."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the end
