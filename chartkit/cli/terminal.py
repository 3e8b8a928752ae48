"""Standard output and standard error as a command finds them."""

from __future__ import annotations

import os
import sys


def wants_colour() -> bool:
    """Whether standard output is shown to somebody who wants colours (https://no-color.org)."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not is_plain


def open_closed() -> None:
    """Gives a stream that the caller has closed (`>&-`) a place that takes everything."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the end
