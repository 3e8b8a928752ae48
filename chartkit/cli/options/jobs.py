"""The option for several processes."""

from __future__ import annotations

import os
from typing import Final

import click

from chartkit.cli.options.groups import Option


def cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def jobs_option(work: str) -> Option:
    """Return the option `--jobs N`; work: what the processes do, as `judge objects`."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=cores,
        show_default="the processors",
        metavar="N",
        help=f"The most processes that {work} at a time; results come in the order of the input.",
    )


cache_option: Final[Option] = click.option(
    "--cache/--no-cache",
    default=True,
    help="Whether to use results of earlier runs. Default: they are used.",
)
