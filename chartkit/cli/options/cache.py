"""The option for what earlier runs worked out."""

from __future__ import annotations

from typing import Final

import click

from chartkit.cli.options.groups import Option

cache_option: Final[Option] = click.option(
    "--cache/--no-cache",
    default=True,
    help="Whether to use what earlier runs worked out. Default: it is used.",
)
