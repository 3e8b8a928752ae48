"""The option that reuses results of earlier runs."""

from __future__ import annotations

from typing import Final

import click

from chartkit.cli.options.groups import Option

cache_option: Final[Option] = click.option(
    "--cache/--no-cache",
    default=True,
    help="Whether to use results of earlier runs. Default: they are used.",
)
