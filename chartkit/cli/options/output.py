"""The option that chooses the format of standard output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click


def output_option(*formats: str) -> Callable[[Any], Any]:
    """Return the option `-o FORMAT`, `--output FORMAT`; the first format is the default."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="The format of standard output.",
    )


def one_of(names: Iterable[str]) -> str:
    """Return names as a help text lists them: `a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
